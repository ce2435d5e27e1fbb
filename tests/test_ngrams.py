"""n-gram models against brute-force counting, and the identities that probabilities must satisfy."""

import numpy as np
import pytest

from lessonlib.ngrams import NgramModel

TEXT, ALPHABET = "abracadabra abacus", " abcdrsu"


def by_hand(text, alphabet, context, character, order, alpha):
    """The recursion of the module's docstring, with the counts taken from the text at every call."""
    if order == 1 or not context:
        return (text.count(character) + alpha) / (len(text) + alpha * len(alphabet))
    context = context[max(0, len(context) - order + 1):]
    followed = [text[i + len(context)] for i in range(len(text) - len(context)) if text[i:].startswith(context)]
    shorter = by_hand(text, alphabet, context[1:], character, len(context), alpha)
    return (followed.count(character) + alpha * shorter) / (len(followed) + alpha)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("alpha", [0.1, 2.0])
def test_every_probability_equals_counting_by_hand(order, alpha):
    model = NgramModel(TEXT, order, ALPHABET, alpha)
    for context in ("", "a", "ab", "abra", "zz", "cadabra", "suu"):
        expected = [by_hand(TEXT, ALPHABET, context, c, order, alpha) for c in ALPHABET]
        assert np.allclose(model.probabilities(context), expected, atol=1e-14)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_probabilities_sum_to_one_for_seen_and_unseen_contexts(order):
    model = NgramModel(TEXT, order, ALPHABET)
    for context in ("", "a", "abr", "sss", "ussa"):
        p = model.probabilities(context)
        assert p.sum() == pytest.approx(1, abs=1e-12) and (p > 0).all()


def test_a_lower_order_of_a_model_is_the_model_of_that_order():
    high = NgramModel(TEXT, 5, ALPHABET)
    for order in (1, 2, 3, 4):
        low = NgramModel(TEXT, order, ALPHABET)
        assert np.array_equal(high.losses("abba cab", order), low.losses("abba cab"))
        assert np.array_equal(high.probabilities("abr", order), low.probabilities("abr"))


def test_losses_are_the_logarithms_of_the_probabilities():
    """The first characters have the contexts that there are, and nothing from another text."""
    model, text = NgramModel(TEXT, 4, ALPHABET), "crab"
    expected = [-np.log(model.probabilities(text[:i])[ALPHABET.index(c)]) for i, c in enumerate(text)]
    assert np.allclose(model.losses(text), expected, atol=1e-14)


def test_one_letter_of_text_has_the_closed_form():
    assert NgramModel("aaab", 1, "abc", alpha=1.0).probabilities("") == pytest.approx([4 / 7, 2 / 7, 1 / 7])


def test_bad_input_is_refused():
    for arguments in (("", 2, "ab"), ("abc", 2, "ab"), ("ab", 2, "aab"), ("ab", 0, "ab"), ("ab", 2, "ab", 0.0)):
        with pytest.raises(ValueError):
            NgramModel(*arguments)
    with pytest.raises(ValueError, match="from 1 to 2"):
        NgramModel("ab", 2, "ab").losses("ab", 3)
