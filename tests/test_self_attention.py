"""Self-attention against PyTorch's layer; causality; padding; the cache against the whole sequence at once."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from lessonlib.attention import causal_mask
from lessonlib.packing import real_steps
from lessonlib.racers import build_with_seed, parameter_count
from lessonlib.self_attention import SelfAttention


def layers(causal=True, heads=2):
    theirs = build_with_seed(lambda: nn.MultiheadAttention(6, heads, batch_first=True, dtype=torch.float64), 0)
    with torch.no_grad():
        for bias in (theirs.in_proj_bias, theirs.out_proj.bias):  # zero at the start, so that a lost bias would not show
            bias.copy_(draw(len(bias), seed=5))
    return SelfAttention.from_torch(theirs, causal=causal), theirs


def draw(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("heads", [1, 2, 6])
@pytest.mark.parametrize("lengths", [None, [5, 2, 4]])
def test_agrees_with_the_layer_of_pytorch(causal, heads, lengths):
    ours, theirs = layers(causal, heads)
    x, mask = draw(3, 5, 6), None if lengths is None else real_steps(lengths)
    outputs, weights = ours(x, mask)
    expected, expected_weights = theirs(x, x, x, key_padding_mask=None if mask is None else ~mask, average_attn_weights=False,
                                        attn_mask=~causal_mask(5) if causal else None)
    assert torch.allclose(outputs, expected, atol=1e-13, rtol=0) and torch.allclose(weights, expected_weights, atol=1e-14, rtol=0)


def test_one_head_is_the_function_of_pytorch():
    ours, _ = layers(heads=1)
    x = draw(2, 5, 6)
    q, k, v = ours.into(x).chunk(3, -1)
    expected = ours.out(F.scaled_dot_product_attention(q, k, v, is_causal=True))
    assert torch.allclose(ours(x)[0], expected, atol=1e-13, rtol=0)


def test_parameters_by_formula():
    assert parameter_count(SelfAttention(12, 3)) == 4 * 12 * 13


@pytest.mark.parametrize("causal", [True, False])
def test_only_a_causal_layer_ignores_the_future(causal):
    ours, _ = layers(causal)
    x = draw(2, 6, 6)
    changed = torch.cat([x[:, :3], x[:, 3:] + 1], dim=1)
    assert torch.equal(ours(x)[0][:, :3], ours(changed)[0][:, :3]) is causal


def test_a_source_that_is_all_padding_gives_finite_gradients():
    ours, _ = layers(causal=False)
    x = draw(2, 4, 6).requires_grad_()
    outputs, weights = ours(x, torch.tensor([[True, True, True, False], [False] * 4]))
    assert not weights[1].any() and torch.allclose(outputs[1], ours.out.bias.expand(4, 6))
    outputs.pow(2).sum().backward()
    assert torch.isfinite(x.grad).all() and not x.grad[1].any() and all(torch.isfinite(p.grad).all() for p in ours.parameters())


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_the_cache_gives_what_the_whole_sequence_gives(batch):
    ours, _ = layers()
    x, cache, outputs = draw(batch, 7, 6), None, []
    for t in range(7):
        y, cache = ours.step(x[:, t], cache)
        outputs.append(y)
        assert [part.shape for part in cache] == [(batch, 2, t + 1, 3)] * 2
    assert torch.allclose(torch.stack(outputs, 1), ours(x)[0], atol=1e-13, rtol=0)


def test_order_of_the_batch_and_of_the_positions():
    """Rows of a batch do not meet; without a mask, positions in another order give the outputs in that order."""
    ours, _ = layers(causal=False)
    x, order = draw(3, 5, 6), torch.tensor([3, 0, 4, 1, 2])
    assert torch.allclose(ours(x.flip(0))[0], ours(x)[0].flip(0), atol=1e-14, rtol=0)
    assert torch.allclose(ours(x[:, order])[0], ours(x)[0][:, order], atol=1e-14, rtol=0)


@pytest.mark.parametrize("call, name", [
    (lambda: SelfAttention(6, 4), "heads"), (lambda: SelfAttention(0, 1), "width"),
    (lambda: layers()[0](draw(2, 6)), "x has shape"), (lambda: layers()[0](draw(2, 0, 6)), "x has shape"),
    (lambda: layers()[0](draw(2, 3, 6), torch.ones(3, 2, dtype=torch.bool)), "mask has shape"),
    (lambda: layers(causal=False)[0].step(draw(2, 6)), "causal"), (lambda: layers()[0].step(draw(2, 3, 6)), "x_t"),
])
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=name):
        call()
