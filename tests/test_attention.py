"""Attention against PyTorch's own functions and closed forms; masks, causality, finite gradients, batches."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F
from browser import explorer_page

from lessonlib.attention import (
    AdditiveAttention,
    additive_scores,
    attend,
    causal_mask,
    dot_scores,
    general_scores,
    masked_softmax,
    scaled_scores,
)
from lessonlib.drawings_attention import draw_alignment, draw_attention_step, draw_query
from lessonlib.explorers import explorer_html
from lessonlib.figures import COLOURS, new_figure
from lessonlib.packing import real_steps
from lessonlib.racers import build_with_seed, parameter_count


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def holes(*shape, seed=0):
    """A random mask; its first row may look nowhere."""
    mask = torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) < 0.6
    mask[..., 0, :] = False
    return mask


# Weights ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_masked_weights_are_exact_zeros_and_gradients_finite(dtype):
    """A row with everything masked gave NaN, or equal weights where a large negative number stood for minus infinity."""
    mask = holes(2, 4, 5)
    scores = (30 * draw(2, 4, 5)).to(dtype).requires_grad_()
    weights = masked_softmax(scores, mask)
    assert weights.dtype == dtype and (weights[~mask] == 0).all() and not weights[:, 0].any()
    alive = mask.any(-1)
    assert torch.allclose(weights.sum(-1)[alive], torch.ones((), dtype=dtype), atol=2 * torch.finfo(dtype).eps, rtol=0)
    (weights.float() * draw(2, 4, 5).float()).sum().backward()
    assert torch.isfinite(scores.grad).all() and not scores.grad[~mask].any()
    assert scores.grad[mask].any()


@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf, 1e30])
def test_masked_scores_have_no_say(junk):
    mask, clean = holes(2, 4, 5), draw(2, 4, 5)
    gradients = []
    for scores in (clean.clone(), clean.masked_fill(~mask, junk)):
        scores.requires_grad_()
        weights = masked_softmax(scores, mask)
        (weights * draw(2, 4, 5, seed=1)).sum().backward()
        gradients.append((weights.detach(), scores.grad))
    assert torch.equal(gradients[0][0], gradients[1][0]) and torch.equal(gradients[0][1], gradients[1][1])


def test_masked_softmax_is_softmax_of_what_remains_and_its_gradient_is_right():
    mask, scores = holes(1, 4, 5), draw(1, 4, 5)
    weights = masked_softmax(scores, mask)
    for row, kept, found in zip(scores[0], mask[0], weights[0], strict=True):
        if kept.any():
            assert torch.allclose(found[kept], row[kept].softmax(0), atol=1e-15, rtol=0)
    assert torch.equal(masked_softmax(scores), scores.softmax(-1))
    assert torch.autograd.gradcheck(lambda x: masked_softmax(x, mask), scores.requires_grad_())


@pytest.mark.parametrize("shape, dtype", [((4, 5), torch.bool), ((3, 4, 5), torch.bool), ((2, 4, 4), torch.bool), ((2, 4, 5), torch.float64)])
def test_a_mask_that_does_not_fit_is_refused(shape, dtype):
    with pytest.raises(ValueError, match=r"mask has shape .* one axis for each of scores, \(2, 4, 5\)"):
        masked_softmax(draw(2, 4, 5), torch.ones(shape, dtype=dtype))


@pytest.mark.parametrize("scores", [torch.zeros(3, 0), torch.zeros(()), torch.zeros(3, 2, dtype=torch.int64)])
def test_scores_that_cannot_be_weighed_are_refused(scores):
    with pytest.raises(ValueError, match="scores"):
        masked_softmax(scores)


# Scores and sums ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("queries, keys", [(1, 1), (3, 3), (2, 5), (5, 2)])
def test_scaled_attention_agrees_with_pytorch(queries, keys):
    q, k, v = draw(2, 3, queries, 4), draw(2, 3, keys, 4, seed=1), draw(2, 3, keys, 6, seed=2)
    for mask in (None, causal_mask(queries, keys)[None, None], holes(2, 1, queries, keys) | (torch.arange(keys) == 0)):
        context, weights = attend(scaled_scores(q, k), v, mask)
        assert torch.allclose(context, F.scaled_dot_product_attention(q, k, v, attn_mask=mask), atol=1e-14, rtol=0)
        assert weights.shape == (2, 3, queries, keys)
    causal = attend(scaled_scores(q, k), v, causal_mask(queries, keys)[None, None])[0]
    assert torch.allclose(causal, F.scaled_dot_product_attention(q, k, v, is_causal=True), atol=1e-14, rtol=0)


def test_a_query_that_may_look_nowhere_gets_zero_as_in_pytorch():
    q, k, v, mask = draw(2, 4, 3), draw(2, 5, 3, seed=1), draw(2, 5, 6, seed=2), holes(2, 4, 5)
    context, _ = attend(scaled_scores(q, k), v, mask)
    assert not context[:, 0].any() and context[:, 1:].any()
    assert torch.allclose(context, F.scaled_dot_product_attention(q, k, v, attn_mask=mask), atol=1e-14, rtol=0)


def test_the_four_scores_pair_by_pair():
    q, k, W = draw(2, 3, 4), draw(2, 5, 6, seed=1), draw(4, 6, seed=2)
    W_a, U_a, v_a, same = draw(7, 4, seed=3), draw(7, 6, seed=4), draw(7, seed=5), draw(2, 5, 4, seed=6)
    found = general_scores(q, k, W), additive_scores(q, k, W_a, U_a, v_a), dot_scores(q, same), scaled_scores(q, same)
    for b in range(2):
        for t in range(3):
            for j in range(5):
                by_hand = (q[b, t] @ W @ k[b, j], v_a @ torch.tanh(W_a @ q[b, t] + U_a @ k[b, j]),
                           q[b, t] @ same[b, j], q[b, t] @ same[b, j] / 2)
                for scores, value in zip(found, by_hand, strict=True):
                    assert scores[b, t, j].item() == pytest.approx(value.item(), abs=1e-13)
    assert torch.allclose(general_scores(q, same, torch.eye(4, dtype=torch.float64)), dot_scores(q, same))


def test_the_context_lies_among_the_values():
    context, _ = attend(5 * draw(4, 3, 6), draw(4, 6, 2, seed=1))
    values = draw(4, 6, 2, seed=1)
    assert (context >= values.amin(1, keepdim=True)).all() and (context <= values.amax(1, keepdim=True)).all()


@pytest.mark.parametrize("call, name", [
    (lambda: dot_scores(draw(2, 3), draw(2, 4)), "one width"), (lambda: scaled_scores(draw(3), draw(2, 3)), "query"),
    (lambda: general_scores(draw(3), draw(2, 3), draw(3, 3)), "query"), (lambda: attend(draw(2, 3), draw(4, 2)), "values"),
    (lambda: attend(draw(3), draw(3, 2)), "scores"), (lambda: causal_mask(0), "queries"), (lambda: causal_mask(2, 0), "keys"),
    (lambda: causal_mask(2, first=-1), "first"), (lambda: AdditiveAttention(2, 0, 3), "key_size"),
])
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=name):
        call()


# Causality ----------------------------------------------------------------------------------------------------

@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 6))
def test_causal_mask_by_definition(queries, keys, first):
    mask = causal_mask(queries, keys, first=first)
    assert mask.tolist() == [[j <= first + i for j in range(keys)] for i in range(queries)]


@pytest.mark.parametrize("t", range(5))
def test_changing_the_future_changes_nothing_before_it(t):
    """A causal flag that is silently dropped shows here, and a mask the wrong way round too."""
    x, steps = draw(2, 6, 4), 6
    changed = torch.cat([x[:, :t + 1], 100 * draw(2, steps - t - 1, 4, seed=1)], dim=1)
    mask = causal_mask(steps)[None]
    before, after = (attend(scaled_scores(part, part), part, mask)[0] for part in (x, changed))
    assert torch.equal(before[:, :t + 1], after[:, :t + 1])
    assert not torch.allclose(before[:, t + 1:], after[:, t + 1:])


def test_no_gradient_reaches_the_future():
    x = draw(1, 6, 4).requires_grad_()
    attend(scaled_scores(x, x), x, causal_mask(6)[None])[0][0, 2].sum().backward()
    assert x.grad[0, :3].any() and not x.grad[0, 3:].any()


# Additive attention as a decoder uses it ----------------------------------------------------------------------

def attention(seed=0):
    return build_with_seed(lambda: AdditiveAttention(4, 6, 5), seed).double()


def test_parameters_by_formula():
    assert parameter_count(AdditiveAttention(64, 128, 64)) == 64 * 64 + 64 * 128 + 64


def test_one_step_all_steps_and_prepared_keys_agree():
    layer, query, keys = attention(), draw(3, 2, 4), draw(3, 5, 6, seed=1)
    mask = real_steps([5, 2, 1])
    context, weights = layer(query, keys, mask[:, None])
    reference = additive_scores(query, keys, layer.W_a.weight, layer.U_a.weight, layer.v_a.weight[0])
    assert torch.allclose(weights, masked_softmax(reference, mask[:, None]), atol=1e-15, rtol=0)
    for t in range(2):
        for prepared in (None, layer.prepare(keys)):
            one, found = layer(query[:, t], keys, mask, prepared=prepared)
            assert one.shape == (3, 6) and found.shape == (3, 5)
            assert torch.allclose(one, context[:, t], atol=1e-14, rtol=0) and torch.allclose(found, weights[:, t], atol=1e-14, rtol=0)


@settings(max_examples=20, deadline=None)
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=3), more=st.integers(1, 4), value=st.sampled_from([0.0, 7.0, -100.0]))
def test_neither_padding_nor_company_matters(lengths, more, value):
    """Alone, in a batch and with any padding, a source gives the same context."""
    layer, query, keys = attention(), draw(len(lengths), 4), draw(len(lengths), max(lengths) + more, 6, seed=1)
    mask = real_steps(lengths, keys.shape[1])
    keys = torch.where(mask[..., None], keys, value)
    context, weights = layer(query, keys, mask)
    assert not weights[~mask].any()
    for b, length in enumerate(lengths):
        alone, _ = layer(query[b:b + 1], keys[b:b + 1, :length])
        assert torch.allclose(context[b], alone[0], atol=1e-14, rtol=0)


def test_gradients_of_additive_attention():
    layer, query, keys = attention(), draw(2, 4).requires_grad_(), draw(2, 3, 6, seed=1).requires_grad_()
    mask = torch.tensor([[True, True, False], [False, False, False]])
    assert torch.autograd.gradcheck(lambda q, k: layer(q, k, mask)[0], (query, keys))
    layer(query, keys, mask)[0].sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in layer.parameters())


@pytest.mark.parametrize("query, keys", [((3, 4), (2, 5, 6)), ((2, 4), (5, 6)), ((4,), (2, 5, 6))])
def test_additive_attention_refuses_other_shapes(query, keys):
    with pytest.raises(ValueError, match=r"query has shape .* \(B, S, d_k\)"):
        attention()(draw(*query), draw(*keys))


# Drawings and the explorer ------------------------------------------------------------------------------------

def test_drawings_refuse_what_they_cannot_draw():
    _, axes = new_figure()
    draw_alignment(axes, torch.eye(2), ["a", "b"], ["c", "d"], ringed=[0, 1])
    assert draw_attention_step(3)
    for call, name in ((lambda: draw_attention_step(1), "sources"), (lambda: draw_query(torch.zeros(3, 3), torch.zeros(2)), "keys"),
                       (lambda: draw_alignment(axes, torch.eye(2), ["a"], ["c", "d"]), "weights")):
        with pytest.raises(ValueError, match=name):
            call()


KEYS = [[2.0, 0.3], [1.2, 1.6], [-0.6, 1.8], [-1.7, -0.6], [0.8, -1.7]]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Two attention-weights explorers, opened from the disk in a browser without a network."""
    data = {"keys": KEYS, "span": 2.4, "longest": 4, "start": {"direction": 40, "length": 1.25},
            "colours": {name: COLOURS[name] for name in ("attention", "gru", "lstm")}}
    element = explorer_html("attention-weights", data, draw_query(torch.tensor(KEYS), torch.tensor([1.0, 0.8])),
                            "A query among five keys, and the five weights.", "Explorer", controls="17.5rem")
    with explorer_page(element + element, "attention-weights", tmp_path_factory.mktemp("explorer")) as opened:
        yield opened


def test_nothing_moves_and_nothing_is_cut_off(page):
    assert page.faults == []
    assert abs(page.evaluate("document.getElementById('after').offsetTop - window.before")) <= 2
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_every_control_has_a_name_and_ids_are_unique(page):
    controls = page.locator("input").all()
    assert len(controls) == 14 and all(page.locator(f'label[for="{c.get_attribute("id")}"]').inner_text().strip() for c in controls)
    ids = page.eval_on_selector_all("[id]", "nodes => nodes.map(node => node.id)")
    assert len(ids) == len(set(ids))


def test_the_reading_agrees_with_the_library(page):
    page.reload()
    reading, keys = page.locator(".explorer-reading").first, torch.tensor(KEYS, dtype=torch.float64)

    def expected(degrees, length, hidden=()):
        query = length * torch.tensor([[math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]], dtype=torch.float64)
        mask = torch.tensor([[j not in hidden for j in range(5)]])
        context, weights = attend(dot_scores(query, keys), keys, mask)
        spread = math.exp(-torch.special.xlogy(weights, weights).sum().item())
        best = int(weights.argmax())
        return (f"Key {best + 1} has the largest weight, {weights[0, best]:.2f}. The weights are as spread as {spread:.1f} equal ones. "
                f"The context (diamond) is ({context[0, 0]:.2f}, {context[0, 1]:.2f}).").replace("-", "\u2212")

    assert reading.inner_text() == expected(40, 1.25)
    page.locator("input[type=range]").first.focus()
    page.keyboard.press("ArrowRight")
    assert reading.inner_text() == expected(45, 1.25)
    page.locator("input[type=checkbox]").nth(1).uncheck()
    assert reading.inner_text() == expected(45, 1.25, hidden=(1,)) and page.locator("svg title").first.text_content().endswith(reading.inner_text())


def test_a_query_of_length_zero_and_a_source_that_is_all_hidden(page):
    page.reload()
    reading = page.locator(".explorer-reading").first
    page.locator("input[type=range]").nth(1).focus()
    page.keyboard.press("Home")
    assert reading.inner_text().startswith("A query of length zero weighs the open keys alike. The weights are as spread as 5.0 equal ones.")
    for box in page.locator("input[type=checkbox]").all()[:5]:
        box.uncheck()
    assert reading.inner_text() == "No key may be looked at: every weight is zero, and so is the context."
