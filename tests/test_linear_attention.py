"""Linear attention in its three forms against a double loop; causality, streams, gradients, batches."""

import pytest
import torch

from lessonlib.complexity import counted_flops, longest_chain, tensor_bytes
from lessonlib.linear_attention import chunked_form, elu_plus_one, parallel_form, recurrent_form, step


def draw(*lead, steps=7, width=4, values=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*lead, steps, size, generator=generator, dtype=torch.float64) for size in (width, width, values)]


def by_hand(q, k, v, f):
    """Each output as a weighted mean of the values up to its position, one number at a time."""
    outputs = []
    for t in range(len(q)):
        weights = [float(f(q[t]) @ f(k[j])) for j in range(t + 1)]
        outputs.append(sum(w * v[j] for j, w in enumerate(weights)) / sum(weights))
    return torch.stack(outputs)


@pytest.mark.parametrize("f", [elu_plus_one, torch.exp, lambda x: x.square() + 1e-3])
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_all_forms_agree_with_the_double_loop(f, steps):
    q, k, v = draw(steps=steps)
    expected = by_hand(q, k, v, f)
    forms = [parallel_form(q, k, v, f), recurrent_form(q, k, v, None, f)[0], *(chunked_form(q, k, v, chunk, f) for chunk in (1, 3, 9))]
    for found in forms:
        assert torch.allclose(found, expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_batches_and_heads_do_not_meet(batch):
    q, k, v = draw(batch, 2)
    for form in (parallel_form, lambda *x: recurrent_form(*x)[0], lambda *x: chunked_form(*x, 3)):
        found = form(q, k, v)
        assert found.shape == (batch, 2, 7, 3)
        for b in range(batch):
            for head in range(2):
                assert torch.allclose(found[b, head], form(q[b, head], k[b, head], v[b, head]), atol=1e-14, rtol=0)


def test_a_stream_may_be_split_anywhere():
    q, k, v = draw(2)
    whole, last = recurrent_form(q, k, v)
    for cut in range(1, 7):
        first, state = recurrent_form(q[:, :cut], k[:, :cut], v[:, :cut])
        second, end = recurrent_form(q[:, cut:], k[:, cut:], v[:, cut:], state)
        assert torch.equal(torch.cat([first, second], 1), whole)
        assert all(torch.equal(a, b) for a, b in zip(end, last, strict=True))


@pytest.mark.parametrize("t", range(6))
def test_the_future_does_not_matter(t):
    parts = draw(1)
    changed = [torch.cat([part[:, :t + 1], part[:, t + 1:] + 3], 1) for part in parts]
    for form in (parallel_form, lambda *x: recurrent_form(*x)[0], lambda *x: chunked_form(*x, 2)):
        before, after = form(*parts), form(*changed)
        assert torch.equal(before[:, :t + 1], after[:, :t + 1]) and not torch.allclose(before[:, t + 1:], after[:, t + 1:])


def test_gradients_of_the_forms_agree_and_are_right():
    parts = [part.requires_grad_() for part in draw(steps=5)]
    gradients = [torch.autograd.grad(form(*parts).square().sum(), parts)
                 for form in (parallel_form, lambda *x: recurrent_form(*x)[0], lambda *x: chunked_form(*x, 2))]
    for other in gradients[1:]:
        assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(gradients[0], other, strict=True))
    assert torch.autograd.gradcheck(parallel_form, parts)


def test_state_and_cost_do_not_grow_with_the_position():
    q, k, v = (part[0] for part in draw(steps=1))
    _, state = recurrent_form(*draw(steps=50))
    assert [part.shape for part in state] == [(3, 4), (4,)] and tensor_bytes(state) == 8 * (3 * 4 + 4)
    late, early = counted_flops(lambda: step(q, k, v, state)), counted_flops(lambda: step(q, k, v, None))
    assert late == early
    assert longest_chain(lambda: recurrent_form(*draw(steps=9))) == 1  # the state itself is reached by additions


def test_an_exponential_map_is_no_softmax():
    """exp(q) . exp(k) is not exp(q . k): linear attention is another layer, not a faster way to compute the same."""
    q, k, v = draw()
    causal = (q @ k.T).masked_fill(torch.ones(7, 7).triu(1).bool(), -torch.inf).softmax(-1) @ v
    assert (parallel_form(q, k, v, torch.exp) - causal).abs().max() > 0.05


@pytest.mark.parametrize("call, name", [
    (lambda: parallel_form(torch.zeros(2, 3), torch.zeros(2, 4), torch.zeros(2, 3)), "q, k and v"),
    (lambda: recurrent_form(*(torch.zeros(0, 3),) * 3), "T at least 1"), (lambda: chunked_form(*(torch.zeros(2, 3),) * 3, 0), "chunk"),
])
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=name):
        call()
