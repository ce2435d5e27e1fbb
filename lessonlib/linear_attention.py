"""Linear attention: the same outputs from an array of weights, from a recurrence, and in chunks.

Dimensions: T positions, d width of queries and keys, d_v width of values, C steps of a chunk; `...` stands for any
leading axes (batch, heads). With a feature map f of positive entries (Katharopoulos et al. 2020)

    y_t = S_t f(q_t) / (z_t . f(q_t)),   S_t = S_{t-1} + v_t f(k_t)^T,   z_t = z_{t-1} + f(k_t),

a recurrence whose state is the matrix S (..., d_v, d) and the vector z (..., d), changed by addition only.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from lessonlib.arguments import count
from lessonlib.attention import causal_mask

State = tuple[Tensor, Tensor]  # S (..., d_v, d) and z (..., d)


def elu_plus_one(x: Tensor) -> Tensor:
    """elu(x) + 1: x + 1 for positive entries, e^x for the others; always positive."""
    return F.elu(x) + 1


FeatureMap = Callable[[Tensor], Tensor]


def _check(q: Tensor, k: Tensor, v: Tensor) -> None:
    if q.ndim < 2 or q.shape != k.shape or v.shape[:-1] != k.shape[:-1] or q.shape[-2] == 0:
        raise ValueError(f"q, k and v have shapes {tuple(q.shape)}, {tuple(k.shape)} and {tuple(v.shape)}; they must be "
                         "(..., T, d), (..., T, d) and (..., T, d_v) with T at least 1")


def parallel_form(q: Tensor, k: Tensor, v: Tensor, feature_map: FeatureMap = elu_plus_one) -> Tensor:
    """All outputs at once from the (T, T) array of causal weights, shape (..., T, d_v): O(T^2 d) operations."""
    _check(q, k, v)
    scores = feature_map(q) @ feature_map(k).transpose(-1, -2)
    scores = scores.masked_fill(~causal_mask(q.shape[-2]).to(q.device), 0)
    return scores @ v / scores.sum(-1, keepdim=True)


def step(q_t: Tensor, k_t: Tensor, v_t: Tensor, state: State | None = None,
         feature_map: FeatureMap = elu_plus_one) -> tuple[Tensor, State]:
    """The output at the next position, (..., d_v), and the new state, of the same size as the old: O(d d_v) operations.

    Parameters
    ----------
    q_t, k_t, v_t : Tensor, shapes (..., d), (..., d) and (..., d_v)
    state : optional
        As the step before returned it; None at the first position.
    """
    f_q, f_k = feature_map(q_t), feature_map(k_t)
    S = v_t[..., :, None] * f_k[..., None, :]                     # (..., d_v, d)
    z = f_k
    if state is not None:
        S, z = state[0] + S, state[1] + z
    return (S @ f_q[..., None])[..., 0] / (z * f_q).sum(-1, keepdim=True), (S, z)


def recurrent_form(q: Tensor, k: Tensor, v: Tensor, state: State | None = None,
                   feature_map: FeatureMap = elu_plus_one) -> tuple[Tensor, State]:
    """Outputs (..., T, d_v) one position after the other, from `state` where it is given, and the state after the last."""
    _check(q, k, v)
    outputs = []
    for q_t, k_t, v_t in zip(q.unbind(-2), k.unbind(-2), v.unbind(-2)):
        y, state = step(q_t, k_t, v_t, state, feature_map)
        outputs.append(y)
    return torch.stack(outputs, dim=-2), state


def chunked_form(q: Tensor, k: Tensor, v: Tensor, chunk: int, feature_map: FeatureMap = elu_plus_one) -> Tensor:
    """Outputs (..., T, d_v): weights within chunks of C steps, the recurrence between them; O(T (C + d) d) operations."""
    _check(q, k, v)
    f_q, f_k = feature_map(q), feature_map(k)
    S, z, outputs = v.new_zeros(*v.shape[:-2], v.shape[-1], k.shape[-1]), torch.zeros_like(f_k[..., 0, :]), []
    for q_c, k_c, v_c in zip(*(part.split(count("chunk", chunk), dim=-2) for part in (f_q, f_k, v))):
        scores = (q_c @ k_c.transpose(-1, -2)).masked_fill(~causal_mask(q_c.shape[-2]).to(q.device), 0)
        above = scores @ v_c + q_c @ S.transpose(-1, -2)
        below = scores.sum(-1, keepdim=True) + q_c @ z[..., :, None]
        outputs.append(above / below)
        S, z = S + v_c.transpose(-1, -2) @ k_c, z + k_c.sum(-2)
    return torch.cat(outputs, dim=-2)
