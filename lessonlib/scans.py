"""Recurrences of R networks at once, from the first symbol to the last state, with their gradients written out.

Dimensions: R replicas, B batch, T length, V symbols, H hidden size, k blocks of rows.
The state and the symbol enter a step together, as e_t = (h_{t-1}, one-hot of s_t) of shape (R, H + V, B). One matrix J of
shape (R, k H, H + V) says what they contribute: its first H columns are recurrent weights, the others belong to one symbol
each and hold its embedding's contribution and the biases. A step is one batched product for all replicas, J e_t, and a few
operations on its blocks; batches stand last, so that a block is one piece of memory for each replica.
The gradient runs the same steps backwards (`lessonlib.bptt`). Autograd would find the same numbers in more time.
"""

from __future__ import annotations

import torch
from torch import Tensor


class PlainScan(torch.autograd.Function):
    """Plain networks, k = 1: h_t = tanh(J e_t)."""

    @staticmethod
    def forward(ctx, onehot: Tensor, joint: Tensor) -> Tensor:
        """Last states (R, H, B) from one-hot symbols (T, R, V, B) and J (R, H, H + V)."""
        state, ctx.steps = onehot.new_zeros(*joint.shape[:2], onehot.shape[3]), []
        for symbol in onehot:
            entered = torch.cat([state, symbol], dim=1)
            state = torch.bmm(joint, entered).tanh_()
            ctx.steps.append((entered, state))
        ctx.save_for_backward(joint)
        return state.clone()

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[None, Tensor]:
        """The gradient with respect to J."""
        joint, = ctx.saved_tensors
        back, grad_joint = recurrent_part(joint, joint.shape[1]), torch.zeros_like(joint)
        for entered, state in reversed(ctx.steps):
            grad = torch.addcmul(grad, grad * state, state, value=-1)          # through the tanh: times 1 - h^2
            grad_joint.baddbmm_(grad, entered.transpose(1, 2))
            grad = torch.bmm(back, grad)
        return None, grad_joint


class LSTMScan(torch.autograd.Function):
    """LSTMs, k = 4: with J e_t = (i, f, g, o parts), c_t = s(f) c_{t-1} + s(i) tanh(g), h_t = s(o) tanh(c_t), s the sigmoid.

    Since tanh x = 2 s(2x) - 1, doubling the rows of g lets one sigmoid serve all four blocks.
    """

    @staticmethod
    def forward(ctx, onehot: Tensor, joint: Tensor) -> Tensor:
        """Last states (R, H, B) from one-hot symbols (T, R, V, B) and J (R, 4H, H + V), blocks in PyTorch's order."""
        H, doubled = joint.shape[1] // 4, joint.clone()
        doubled[:, 2 * H:3 * H] *= 2
        state, ctx.steps = onehot.new_zeros(len(joint), H, onehot.shape[3]), []
        cell = state
        for symbol in onehot:
            entered, before = torch.cat([state, symbol], dim=1), cell
            gates = torch.bmm(doubled, entered).sigmoid_()
            i, f, g, o = gates.chunk(4, dim=1)
            cell = torch.addcmul(f * before, i, 2 * g - 1)
            shown = (2 * cell).sigmoid_().mul_(2).sub_(1)                       # tanh of the cell
            state = o * shown
            ctx.steps.append((entered, gates, before, shown))
        ctx.save_for_backward(doubled)
        return state

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[None, Tensor]:
        """The gradient with respect to J."""
        doubled, = ctx.saved_tensors
        H, grad_joint = doubled.shape[1] // 4, torch.zeros_like(doubled)
        back = recurrent_part(doubled, H)
        grad_cell, grad_gates = torch.zeros_like(grad), grad.new_empty(len(grad), 4 * H, grad.shape[2])
        to_i, to_f, to_g, to_o = grad_gates.chunk(4, dim=1)
        for entered, gates, before, shown in reversed(ctx.steps):
            i, f, g, o = gates.chunk(4, dim=1)
            through = grad * o
            grad_cell += torch.addcmul(through, through * shown, shown, value=-1)
            torch.mul(grad_cell, 2 * g - 1, out=to_i)
            torch.mul(grad_cell, before, out=to_f)
            torch.mul(2 * grad_cell, i, out=to_g)
            torch.mul(grad, shown, out=to_o)
            grad_gates *= torch.addcmul(gates, gates, gates, value=-1)         # slope of the sigmoid: s (1 - s)
            grad_joint.baddbmm_(grad_gates, entered.transpose(1, 2))
            grad = torch.bmm(back, grad_gates)
            grad_cell *= f
        grad_joint[:, 2 * H:3 * H] *= 2
        return None, grad_joint


class GRUScan(torch.autograd.Function):
    """GRUs, k = 4: with J e_t = (r, u, x, a parts), n = tanh(x + s(r) a) and h_t = (1 - s(u)) n + s(u) h_{t-1}.

    The candidate has two blocks, x from the symbol alone and a from the state and its bias, because PyTorch's
    reset gate multiplies the second only; u is what PyTorch calls z.
    """

    @staticmethod
    def forward(ctx, onehot: Tensor, joint: Tensor) -> Tensor:
        """Last states (R, H, B) from one-hot symbols (T, R, V, B) and J (R, 4H, H + V)."""
        H = joint.shape[1] // 4
        state, ctx.steps = onehot.new_zeros(len(joint), H, onehot.shape[3]), []
        for symbol in onehot:
            entered, before = torch.cat([state, symbol], dim=1), state
            parts = torch.bmm(joint, entered)
            gates, a = parts[:, :2 * H].sigmoid(), parts[:, 3 * H:]
            n = torch.addcmul(parts[:, 2 * H:3 * H], gates[:, :H], a).tanh_()
            state = torch.lerp(n, before, gates[:, H:])
            ctx.steps.append((entered, gates, n, a, before))
        ctx.save_for_backward(joint)
        return state

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[None, Tensor]:
        """The gradient with respect to J."""
        joint, = ctx.saved_tensors
        H, grad_joint = joint.shape[1] // 4, torch.zeros_like(joint)
        back = recurrent_part(joint, H)
        grad_parts = grad.new_empty(len(grad), 4 * H, grad.shape[2])
        to_r, to_u, to_x, to_a = grad_parts.chunk(4, dim=1)
        for entered, gates, n, a, before in reversed(ctx.steps):
            r, u = gates.chunk(2, dim=1)
            kept = grad * u
            through = grad - kept
            torch.addcmul(through, through * n, n, value=-1, out=to_x)         # through the tanh: times 1 - n^2
            torch.mul(to_x, a, out=to_r)
            torch.mul(grad, before - n, out=to_u)
            grad_parts[:, :2 * H] *= torch.addcmul(gates, gates, gates, value=-1)
            torch.mul(to_x, r, out=to_a)
            grad_joint.baddbmm_(grad_parts, entered.transpose(1, 2))
            grad = torch.baddbmm(kept, back, grad_parts)
        return None, grad_joint


def recurrent_part(joint: Tensor, hidden_size: int) -> Tensor:
    """The recurrent columns of J, transposed, (R, H, k H): they take a gradient from the blocks back to the state."""
    return joint[:, :, :hidden_size].transpose(1, 2).contiguous()
