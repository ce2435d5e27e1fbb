"""Costs by formula against counts of what PyTorch executes; reach and paths against search and gradients; bytes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lessonlib.attention import attend, scaled_scores
from lessonlib.complexity import (
    CausalConvolutions,
    attention_flops,
    cache_bytes,
    convolution_flops,
    counted_flops,
    doubling,
    longest_chain,
    lstm_state_bytes,
    path_length,
    receptive_field,
    recurrent_flops,
    seen_by_last,
    tensor_bytes,
)
from lessonlib.racers import build_with_seed
from lessonlib.self_attention import SelfAttention

SIZES = [(1, 1, 4), (2, 5, 4), (3, 7, 6)]


@pytest.mark.parametrize("batch, steps, width", SIZES)
@pytest.mark.parametrize("kind, gates", [(nn.RNN, 1), (nn.GRU, 3), (nn.LSTM, 4)])
def test_recurrent_operations_as_executed(kind, gates, batch, steps, width):
    layer, x = kind(width, width, batch_first=True), torch.zeros(batch, steps, width)
    assert counted_flops(lambda: layer(x)) == recurrent_flops(batch, steps, width, gates=gates)
    assert longest_chain(lambda: layer(x)) == steps


@pytest.mark.parametrize("batch, steps, width", SIZES)
def test_attention_operations_as_executed(batch, steps, width):
    layer, x = SelfAttention(width, 2), torch.zeros(batch, steps, width)
    assert counted_flops(lambda: layer(x)) == attention_flops(batch, steps, width, projections=4)
    assert counted_flops(lambda: attend(scaled_scores(x, x), x)) == attention_flops(batch, steps, width, projections=0)
    assert longest_chain(lambda: layer(x)) == 4 and longest_chain(lambda: attend(scaled_scores(x, x), x)) == 2


@pytest.mark.parametrize("batch, steps, width", SIZES)
@pytest.mark.parametrize("kernel, dilations", [(1, [1]), (2, [1, 2, 4]), (3, [1, 3])])
def test_convolution_operations_as_executed(kernel, dilations, batch, steps, width):
    stack, x = CausalConvolutions(width, kernel, dilations), torch.zeros(batch, width, steps)
    assert counted_flops(lambda: stack(x)) == convolution_flops(batch, steps, width, kernel=kernel, layers=len(dilations))
    assert longest_chain(lambda: stack(x)) == len(dilations)


def test_the_chain_is_the_longest_way_and_not_the_number_of_products():
    a, b = torch.ones(2, 2), torch.ones(2, 2)
    assert longest_chain(lambda: [a @ b for _ in range(5)]) == 1
    assert longest_chain(lambda: (a @ b) @ (a @ b)) == 2
    assert longest_chain(lambda: a + b) == 0

    def loop(state):
        for _ in range(6):
            state = torch.tanh(a @ b + state @ b)
        return state

    assert longest_chain(lambda: loop(a)) == 6 and counted_flops(lambda: loop(a)) == 12 * 16


@pytest.mark.parametrize("kernel", [1, 2, 3])
@pytest.mark.parametrize("dilations", [[1], [2], [4], [1, 1, 1], [1, 2, 4], [3, 1]])
def test_reach_is_the_formula_and_the_future_does_not_matter(kernel, dilations):
    stack = build_with_seed(lambda: CausalConvolutions(3, kernel, dilations).double(), 0)
    x = torch.randn(1, 3, 20, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert stack(x).shape == x.shape
    seen = seen_by_last(stack, x)
    assert int(seen.nonzero().min()) == 20 - receptive_field(kernel, dilations) == 20 - stack.reach
    changed = x.clone()
    changed[..., 12:] += 1
    moved = (stack(changed) != stack(x)).any(1)[0]
    assert not moved[:12].any() and moved[12]
    start = x.clone()
    start[..., 0] += 5
    assert int((stack(start) != stack(x)).any(1)[0].nonzero().max()) + 1 == stack.reach


def test_receptive_fields_by_hand():
    assert [receptive_field(k, doubling(2, n)) for n in (6, 10) for k in (2, 3)] == [64, 127, 1024, 2047]
    assert receptive_field(2, [1] * 4) == 5 and receptive_field(1, [8, 8]) == 1


@given(st.integers(2, 4), st.integers(1, 4))
def test_doubling_reaches_k_to_the_l_without_a_gap(kernel, layers):
    seen = {0}
    for dilation in doubling(kernel, layers):
        seen = {position - tap * dilation for position in seen for tap in range(kernel)}
    assert sorted(-p for p in seen) == list(range(kernel**layers)) and receptive_field(kernel, doubling(kernel, layers)) == kernel**layers


@settings(max_examples=30)
@given(st.integers(2, 40), st.integers(2, 4))
def test_paths_by_search(steps, kernel):
    """The fewest layers (or steps) by which position 0 reaches the last one, by walking the dependency graph."""
    def layers(dilation_of):
        reached, number = {0}, 0
        while steps - 1 not in reached:
            number += 1
            reached = {p + tap * dilation_of(number) for p in reached for tap in range(kernel)}
        return number
    assert path_length("convolution", steps, kernel=kernel) == layers(lambda number: 1)
    assert path_length("dilated", steps, kernel=kernel) == layers(lambda number: kernel ** (number - 1))
    assert path_length("recurrence", steps) == steps - 1 and path_length("attention", steps) == 1


def test_powers_of_the_kernel_need_no_layer_too_many():
    """Rounding of logarithms would give eleven layers for 1,024 positions, or ten for 1,025."""
    assert [path_length("dilated", t) for t in (2, 3, 17, 1024, 1025, 10_000, 10**6)] == [1, 2, 5, 10, 11, 14, 20]
    assert path_length("dilated", 3**5, kernel=3) == 5 and path_length("dilated", 3**5 + 1, kernel=3) == 6


def test_bytes_of_real_tensors():
    lstm, x = nn.LSTM(6, 8, num_layers=3, batch_first=True), torch.zeros(1, 5, 6)
    assert tensor_bytes(lstm(x)[1]) == lstm_state_bytes(3, 8)
    layer, cache = SelfAttention(8, 2).bfloat16(), None
    with torch.no_grad():
        for t in range(1, 4):
            _, cache = layer.step(torch.zeros(1, 8, dtype=torch.bfloat16), cache)
            assert tensor_bytes(cache) == cache_bytes(1, 8, t)
    assert tensor_bytes({"a": [torch.zeros(3, dtype=torch.int64)], "b": 7}) == 24
    assert lstm_state_bytes(4, 1024) == 32768 and cache_bytes(24, 2048, 32768) == 6 * 2**30


@pytest.mark.parametrize("call, name", [
    (lambda: recurrent_flops(0, 1, 1, gates=1), "batch"), (lambda: attention_flops(1, 0, 1, projections=0), "steps"),
    (lambda: attention_flops(1, 1, 1, projections=-1), "projections"), (lambda: convolution_flops(1, 1, 1, kernel=0), "kernel"),
    (lambda: receptive_field(2, []), "dilations"), (lambda: receptive_field(2, [0]), "dilations"), (lambda: path_length("tree", 4), "kind"),
    (lambda: path_length("recurrence", 1), "steps"), (lambda: path_length("dilated", 4, kernel=1), "kernel"), (lambda: doubling(2, 0), "layers"),
    (lambda: CausalConvolutions(2, 2, [1])(torch.zeros(2, 5)), "x has shape"), (lambda: cache_bytes(1, 1, 0), "steps"),
    (lambda: lstm_state_bytes(1, 0), "width"),
])
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=name):
        call()
