"""The decoder of an encoder-decoder with attention for R replicas at once, with its gradient written out.

Dimensions: R replicas, B batch, S source positions, T' target positions, H hidden_size, the width of a query, of the
attention and of the state; annotations have width 2 H.
"""

from __future__ import annotations

import torch
from torch import Tensor


def _rows(steps: list[Tensor]) -> Tensor:
    """T' arrays (R, B, width) as one of shape (R, T' B, width), for one product over all steps."""
    return torch.stack(steps, 1).flatten(1, 2)


class AttentionScan(torch.autograd.Function):
    """Additive attention and a GRU, step by step under teacher forcing.

    With the part g_t that the target token sends to the GRU, annotations h_j and p_j = U_a h_j:

        u_tj = tanh(s_{t-1} W_a + p_j)    alpha_t = softmax_j(u_tj v)      c_t = sum_j alpha_tj h_j
        z_t = g_t + c_t W_c               a_t = s_{t-1} W_h + b            the rest as in `replicas.ReplicaScan`

    The gradient runs the same steps backwards; what all steps send to a weight, or to the annotations, is one product
    at the end. Autograd would find the same numbers in more time.
    """

    @staticmethod
    def forward(ctx, g: Tensor, state: Tensor, annotations: Tensor, prepared: Tensor, hidden: Tensor, W_c: Tensor,
                W_h: Tensor, bias: Tensor, W_a: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """States (T', R, B, H) and contexts (T', R, B, 2 H).

        From g (T', R, B, 3 H), s_0 (R, B, H), annotations (R, B, S, 2 H), prepared (R, B, S, H), `hidden` (R, B, S), true
        on padding, W_c (R, 2 H, 3 H), W_h (R, H, 3 H), bias (R, 1, 3 H), W_a (R, H, H) and v (R, H, 1).
        """
        width, values = state.shape[2], annotations.flatten(0, 1)
        states, steps = [state], []
        for g_t in g:
            u = torch.tanh_(torch.bmm(state, W_a)[:, :, None] + prepared)
            scores = torch.bmm(u.flatten(1, 2), v).view_as(hidden).masked_fill_(hidden, -torch.inf)
            alpha = scores.softmax(-1)
            context = torch.bmm(alpha.flatten(0, 1)[:, None], values).view(*state.shape[:2], -1)
            z, a = torch.baddbmm(g_t, context, W_c), torch.baddbmm(bias, state, W_h)
            rz = (z[..., :2 * width] + a[..., :2 * width]).sigmoid_()
            n = torch.addcmul(z[..., 2 * width:], rz[..., :width], a[..., 2 * width:]).tanh_()
            state = torch.lerp(n, state, rz[..., width:])
            states.append(state)
            steps.append((u, alpha, context, rz, n, a[..., 2 * width:]))
        ctx.save_for_backward(annotations, W_c, W_h, W_a, v)
        ctx.states, ctx.steps = states, steps
        return torch.stack(states[1:]), torch.stack([step[2] for step in steps])

    @staticmethod
    def backward(ctx, grad_states: Tensor, grad_contexts: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of everything that is not a mask, in the order of `forward`."""
        annotations, W_c, W_h, W_a, v = ctx.saved_tensors
        width, values = grad_states.shape[3], annotations.flatten(0, 1)
        direction, from_v = v.transpose(1, 2)[:, :, None], torch.zeros_like(v)
        from_prepared, carried = torch.zeros_like(ctx.steps[0][0]), torch.zeros_like(grad_states[0])
        sent = {name: [] for name in ("z", "a", "query", "context")}                 # last step first
        for t in reversed(range(len(ctx.steps))):
            u, alpha, _, rz, n, recurrent = ctx.steps[t]
            grad = carried + grad_states[t]
            kept = grad * rz[..., width:]
            grad_n = (grad - kept) * (1 - n * n)
            grad_rz = torch.cat([grad_n * recurrent, grad * (ctx.states[t] - n)], -1) * (rz * (1 - rz))
            grad_z = torch.cat([grad_rz, grad_n], -1)
            grad_a = torch.cat([grad_rz, grad_n * rz[..., :width]], -1)
            grad_context = torch.baddbmm(grad_contexts[t], grad_z, W_c.transpose(1, 2))
            grad_alpha = torch.bmm(values, grad_context.flatten(0, 1)[..., None]).view_as(alpha)
            grad_scores = alpha * (grad_alpha - (alpha * grad_alpha).sum(-1, keepdim=True))
            from_v.baddbmm_(u.flatten(1, 2).transpose(1, 2), grad_scores.flatten(1)[..., None])
            grad_u = u.square().neg_().add_(1).mul_(grad_scores[..., None]).mul_(direction)   # through the tanh
            from_prepared += grad_u
            grad_query = grad_u.sum(2)
            for name, part in zip(sent, (grad_z, grad_a, grad_query, grad_context)):
                sent[name].append(part)
            carried = torch.baddbmm(torch.baddbmm(kept, grad_a, W_h.transpose(1, 2)), grad_query, W_a.transpose(1, 2))
        before = _rows(ctx.states[-2::-1]).transpose(1, 2)                           # (R, H, T' B), last step first
        contexts, weights = (([step[i] for step in reversed(ctx.steps)]) for i in (2, 1))
        to_annotations = torch.bmm(torch.stack(weights, 2).flatten(0, 1).transpose(1, 2), torch.stack(sent["context"], 2).flatten(0, 1))
        grad_a, grad_z = _rows(sent["a"]), _rows(sent["z"])
        return (torch.stack(sent["z"][::-1]), carried, to_annotations.view_as(annotations), from_prepared, None,
                torch.bmm(_rows(contexts).transpose(1, 2), grad_z), torch.bmm(before, grad_a), grad_a.sum(1, keepdim=True),
                torch.bmm(before, _rows(sent["query"])), from_v)
