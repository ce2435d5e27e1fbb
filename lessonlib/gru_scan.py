"""The GRU recurrence of several networks at once, from inputs that are already mapped and from any start state.

Dimensions: R replicas, B batch, T steps, H hidden_size.
"""

from __future__ import annotations

import torch
from torch import Tensor


class GRUScan(torch.autograd.Function):
    """States of R GRUs, with the gradient written out; the equations are those of `replicas.ReplicaScan`.

    The gradients of the weight and the bias are one product over all steps. Autograd would find the same numbers in
    more time.
    """

    @staticmethod
    def forward(ctx, g: Tensor, start: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """States (T, R, B, H) from mapped inputs g (T, R, B, 3 H), start (R, B, H), weight (R, H, 3 H), bias (R, 1, 3 H)."""
        width, states, kept = start.shape[2], [start], []
        for from_input in g:
            a = torch.baddbmm(bias, states[-1], weight)
            rz = torch.sigmoid(from_input[..., :2 * width] + a[..., :2 * width])
            n = torch.addcmul(from_input[..., 2 * width:], rz[..., :width], a[..., 2 * width:]).tanh_()
            states.append(torch.lerp(n, states[-1], rz[..., width:]))
            kept.append((rz, n, a[..., 2 * width:]))
        ctx.save_for_backward(weight)
        ctx.states, ctx.kept = states, kept
        return torch.stack(states[1:])

    @staticmethod
    def backward(ctx, grad_states: Tensor) -> tuple[Tensor, ...]:
        """Gradients of g, start, weight and bias."""
        weight, = ctx.saved_tensors
        width, turned = weight.shape[1], weight.transpose(1, 2)
        grad_g = grad_states.new_empty(*grad_states.shape[:3], 3 * width)
        grad_a = torch.empty_like(grad_g)
        carried = torch.zeros_like(grad_states[0])
        for t in reversed(range(len(grad_states))):
            rz, n, recurrent = ctx.kept[t]
            grad = carried + grad_states[t]
            through = grad * rz[..., width:]                                         # past the update gate
            grad_n = (grad - through).mul_(1 - n * n)
            slope = torch.addcmul(rz, rz, rz, value=-1)                              # s (1 - s)
            torch.mul(grad_n * recurrent, slope[..., :width], out=grad_g[t, ..., :width])
            torch.mul(grad * (ctx.states[t] - n), slope[..., width:], out=grad_g[t, ..., width:2 * width])
            grad_g[t, ..., 2 * width:] = grad_n
            grad_a[t, ..., :2 * width] = grad_g[t, ..., :2 * width]
            torch.mul(grad_n, rz[..., :width], out=grad_a[t, ..., 2 * width:])
            carried = torch.baddbmm(through, grad_a[t], turned)
        before = torch.stack(ctx.states[:-1], 1).flatten(1, 2)                       # (R, T B, H)
        flat = grad_a.transpose(0, 1).flatten(1, 2)                                  # (R, T B, 3 H)
        return grad_g, carried, torch.bmm(before.transpose(1, 2), flat), flat.sum(1, keepdim=True)
