"""The scans against their equations written step by step, with autograd's gradient and with finite differences."""

import pytest
import torch
from torch.nn import functional as F

from lessonlib.scans import GRUScan, LSTMScan, PlainScan, recurrent_part

BLOCKS = {PlainScan: 1, LSTMScan: 4, GRUScan: 4}


def draw(scan, replicas=2, batch=3, steps=5, hidden=4, symbols=3, seed=1):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(symbols, (steps, replicas, batch), generator=generator)
    joint = torch.randn(replicas, BLOCKS[scan] * hidden, hidden + symbols, generator=generator, dtype=torch.float64, requires_grad=True)
    return F.one_hot(ids, symbols).double().transpose(2, 3), joint


def by_equation(scan, onehot, joint):
    """One replica and one row at a time, each block by its own matrix and vector."""
    last = []
    for r in range(len(joint)):
        blocks = joint[r].chunk(BLOCKS[scan])
        H = len(blocks[0])
        rows = []
        for b in range(onehot.shape[3]):
            h, c = torch.zeros(H, dtype=joint.dtype), torch.zeros(H, dtype=joint.dtype)
            for symbol in onehot[:, r, :, b]:
                parts = [block[:, :H] @ h + block[:, H:] @ symbol for block in blocks]
                if scan is PlainScan:
                    h = torch.tanh(parts[0])
                elif scan is LSTMScan:
                    i, f, g, o = parts
                    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                    h = torch.sigmoid(o) * torch.tanh(c)
                else:
                    reset, update, x, a = parts
                    n = torch.tanh(x + torch.sigmoid(reset) * a)
                    h = (1 - torch.sigmoid(update)) * n + torch.sigmoid(update) * h
            rows.append(h)
        last.append(torch.stack(rows, dim=1))
    return torch.stack(last)


@pytest.mark.parametrize("scan", BLOCKS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 6), (3, 2, 11)])
def test_states_and_gradients_are_those_of_the_equations(scan, shape):
    onehot, joint = draw(scan, *shape)
    found, expected = scan.apply(onehot, joint), by_equation(scan, onehot, joint)
    assert torch.allclose(found, expected, atol=1e-12)
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    got, = torch.autograd.grad((found * weights).sum(), joint)
    want, = torch.autograd.grad((expected * weights).sum(), joint)
    assert want.abs().max() > 0.01 and torch.allclose(got, want, atol=1e-11)


@pytest.mark.parametrize("scan", BLOCKS)
@pytest.mark.parametrize("steps", [1, 4])
def test_gradient_by_finite_differences(scan, steps):
    onehot, joint = draw(scan, replicas=2, batch=2, steps=steps, hidden=2)
    assert torch.autograd.gradcheck(lambda weights: scan.apply(onehot, weights), (joint,))


@pytest.mark.parametrize("scan", BLOCKS)
def test_a_replica_and_a_row_depend_on_themselves_alone(scan):
    onehot, joint = draw(scan)
    other = joint.detach().clone()
    other[1] += 1
    before, after = scan.apply(onehot, joint), scan.apply(onehot, other)
    assert torch.equal(before[0], after[0]) and not torch.allclose(before[1], after[1])
    assert torch.allclose(scan.apply(onehot[..., [2, 0, 1]], joint), before[..., [2, 0, 1]], atol=1e-14)


def test_a_gradient_is_the_same_the_second_time():
    """The backward pass must not spoil what it reads: it may run again on a retained graph."""
    for scan in BLOCKS:
        onehot, joint = draw(scan)
        loss = scan.apply(onehot, joint).square().sum()
        first, = torch.autograd.grad(loss, joint, retain_graph=True)
        second, = torch.autograd.grad(loss, joint)
        assert torch.equal(first, second)


def test_the_recurrent_part_is_the_transpose_of_the_first_columns():
    joint = torch.arange(2 * 4 * 5.0).view(2, 4, 5)
    assert torch.equal(recurrent_part(joint, 2), torch.stack([part[:, :2].T for part in joint]))
