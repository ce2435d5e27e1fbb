"""The table model of the worked example: its probabilities, its tree, its search, and the stepper in a browser."""

import math
import re

import matplotlib.pyplot as plt
import pytest
import torch
from browser import explorer_page
from hypothesis import given
from hypothesis import strategies as st

from lessonlib.beam_search import beam_search
from lessonlib.decoding import score
from lessonlib.drawings_seq2seq import draw_beam_tree, draw_teacher_forcing, statuses, tree_rows
from lessonlib.explorers import explorer_html
from lessonlib.prefix_model import TOY, PrefixModel

MODEL = PrefixModel("ab.", TOY)


def search(beam, alpha=0.0, **options):
    return beam_search(MODEL.step, *MODEL.start(), end=MODEL.end, beam_size=beam, max_steps=MODEL.steps, alpha=alpha, **options)


def test_outputs_are_a_distribution_and_the_step_function_agrees():
    outputs = MODEL.outputs()
    assert len(outputs) == 15 and sum(outputs.values()) == pytest.approx(1, abs=1e-12)
    for text, p in outputs.items():
        tokens = torch.tensor([["ab.".index(symbol) for symbol in text]])
        assert score(MODEL.step, *MODEL.start(), tokens, torch.tensor([len(text)])).exp().item() == pytest.approx(p)
        assert MODEL.text(tokens[0]) == text and MODEL.probability(text) == pytest.approx(p)


@pytest.mark.parametrize("beam, answer", [(1, "aaa."), (2, "ba."), (3, "ab."), (15, "ab.")])
def test_the_worked_example_has_a_different_answer_for_each_beam(beam, answer):
    assert MODEL.text(search(beam).best.tokens[0]) == answer
    assert next(iter(MODEL.outputs())) == "ab."


def test_the_exercise_of_the_source_in_its_own_numbers():
    exercise = PrefixModel("AB.", {"": (0.45, 0.35, 0.2), "A": (0.4, 0.35, 0.25), "B": (0.1, 0.75, 0.15)})
    for beam, text, p in ((1, "AA.", 0.18), (2, "BB.", 0.2625)):
        best = beam_search(exercise.step, *exercise.start(), end=2, beam_size=beam, max_steps=exercise.steps).best
        assert exercise.text(best.tokens[0]) == text and best.log_probs.exp().item() == pytest.approx(p)


@given(st.integers(1, 6))
def test_the_tree_marks_what_the_search_did(beam):
    trace = []
    search(beam, trace=trace)
    found = statuses(MODEL, trace)
    for step in trace:
        prefixes = zip(step.tokens[0], step.log_probs[0], step.ended[0].tolist(), strict=True)
        there = {MODEL.text(y): e for y, p, e in prefixes if p > -math.inf}
        assert {text: "aside" if ended else "kept" for text, ended in there.items()}.items() <= found.items()
        looked_at = [text for text in found if len(text) == step.tokens.shape[2]]
        assert len(there) == min(beam, len(looked_at))
        assert sum(found[text] == "dropped" for text in looked_at) == len(looked_at) - len(there)


def test_rows_of_the_tree_do_not_overlap_and_a_parent_stands_amid_its_children():
    rows = tree_rows(MODEL)
    assert set(rows) == {text[:n] for text in MODEL.outputs() for n in range(5)}
    for length in range(1, 5):
        places = [rows[text] for text in rows if len(text) == length]
        assert len(set(places)) == len(places)
    assert rows["a"] == (rows["aa"] + rows["ab"]) / 2


def test_drawings_hold_what_they_show():
    trace = []
    search(2, trace=trace)
    figure = draw_beam_tree(MODEL, trace)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert {"ba.", "0.144", "step 4"} <= set(texts) and "ab." not in texts  # not looked at by a beam of two
    plt.close(figure)
    texts = [text.get_text() for text in draw_teacher_forcing().axes[0].texts]
    assert texts.count("BOS") == texts.count("EOS") == 2
    plt.close("all")


@pytest.mark.parametrize("name, call", [
    ("symbols", lambda: PrefixModel(".", {"": (1.0,)})), ("symbols", lambda: PrefixModel("aa.", TOY)),
    ("table", lambda: PrefixModel("ab.", {})), ("table", lambda: PrefixModel("ab.", {"": (0.5, 0.5)})),
    ("table", lambda: PrefixModel("ab.", {"": (0.5, 0.5, 0), "ab": (0.5, 0.5, 0)})), ("table", lambda: PrefixModel("ab.", {"": (0.5, 0.5, 0), "c": (0.5, 0.5, 0)})),
    ("probabilities", lambda: PrefixModel("ab.", {"": (0.5, 0.6, 0.1)}))])
def test_bad_input_names_the_argument(name, call):
    with pytest.raises(ValueError, match=name):
        call()


# In a browser -------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with two steppers and the script, opened on a phone's width without a network."""
    trace = []
    search(2, trace=trace)
    data = {"symbols": "ab.", "table": {k: list(v) for k, v in TOY.items()}, "beams": [1, 2, 3, 4], "beam": 2, "alphas": [0, 0.6, 1]}
    element = explorer_html("beam-search", data, draw_beam_tree(MODEL, trace), "The tree of a search with a beam of two.", "Stepper",
                            controls="17rem")
    with explorer_page(element + element, "beam-search", tmp_path_factory.mktemp("beam")) as opened:
        yield opened


def reading(page):
    return page.locator(".explorer-reading").first.inner_text()


def test_the_stepper_fits_has_names_and_moves_nothing(page):
    assert page.faults == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert abs(page.evaluate("document.getElementById('after').offsetTop - window.before")) <= 4
    for control in page.locator("select").all():
        assert page.locator(f'label[for="{control.get_attribute("id")}"]').inner_text().strip()
    assert page.locator("button").all_inner_texts() == ["Start over", "Back", "Next step"] * 2
    ids = page.eval_on_selector_all("[id]", "nodes => nodes.map(node => node.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("alpha", [0, 0.6, 1])
@pytest.mark.parametrize("beam", [1, 2, 3, 4])
def test_the_stepper_searches_as_the_library_does(page, beam, alpha):
    page.reload()
    page.locator("select").first.select_option(str(beam))
    page.locator("select").nth(1).select_option(str(alpha))
    page.get_by_role("button", name="Start over").first.click()
    trace = []
    best = search(beam, alpha, trace=trace)
    for t, step in enumerate(trace, 1):
        assert page.get_by_role("button", name="Next step").first.get_attribute("aria-disabled") == "false"
        page.get_by_role("button", name="Next step").first.click()
        kept = [f"{MODEL.text(y)} {p.exp().item():.3f}"
                for y, p in zip(step.tokens[0], step.log_probs[0], strict=True) if p > -math.inf]
        assert f"Step {t} of {len(trace)}: " in reading(page) and f"kept {', '.join(kept)};" in reading(page)
    assert (f"Answer: {MODEL.text(best.best.tokens[0])}, probability {best.best.log_probs.exp().item():.3f}, "
            f"score \u2212{-best.scores.item():.3f}.") in reading(page)
    page.get_by_role("button", name="Next step").first.press("Enter")  # nothing comes after the end
    assert f"Step {len(trace)} of" in reading(page) and page.faults == []


def test_the_stepper_works_from_the_keyboard_and_describes_its_drawing(page):
    page.reload()
    assert reading(page).endswith("score \u22121.938.")  # it begins where the static figure stands: at the end of the search
    page.get_by_role("button", name="Start over").first.focus()
    page.keyboard.press("Enter")
    assert reading(page).startswith("Nothing is written yet.")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert re.match(r"Step 1 of 3: of 3 extensions, kept a 0\.500, b 0\.400; dropped 1\. Nothing has ended yet\.", reading(page))
    assert page.locator("svg title").first.text_content().endswith(reading(page))
    assert page.locator("rect").first.get_attribute("width") == "64"
    assert page.locator(".explorer-reading").nth(1).inner_text() != reading(page)  # the second stepper stays as it was
