"""Attention: scores, masked weights, weighted sums, and the additive attention of a decoder.

Dimensions: B sequences in a batch, S keys (source positions), T queries (target positions), d_q and d_k widths of a
query and of a key, d_v width of a value, d_a width of additive attention; `...` stands for any leading axes. Scores
and weights have shape (..., T, S). A mask is true where a query may look, and has as many axes as the scores, each
of the same size or of size 1: the padding mask (B, S) of `lessonlib.packing.real_steps` enters as `mask[:, None]`.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from lessonlib.arguments import count


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Weights over the last axis: exactly zero where `mask` is false, and in a row that may look nowhere all zero.

    Scores where the mask is false, NaN and infinity included, change neither the weights nor the gradients, and get a
    gradient of exactly zero.

    Parameters
    ----------
    scores : Tensor, shape (..., S)
    mask : Tensor of bool, optional
        As many axes as `scores`, each of the same size or of size 1. An axis too few is refused: it would be
        filled in from the left, and a mask (B, S) would pass for one of shape (T, S) wherever B equals T.

    Raises
    ------
    ValueError
        If there are no scores to weigh, or the mask has another type or shape.
    """
    if scores.ndim == 0 or scores.shape[-1] == 0 or not scores.is_floating_point():
        raise ValueError(f"scores has shape {tuple(scores.shape)} and type {scores.dtype}; it must be (..., S) of floats, S at least 1")
    if mask is None:
        return scores.softmax(-1)
    if mask.dtype != torch.bool or mask.ndim != scores.ndim or any(m not in (1, s) for m, s in zip(mask.shape, scores.shape)):
        raise ValueError(f"mask has shape {tuple(mask.shape)} and type {mask.dtype}; it must be bool, with one axis for each "
                         f"of scores, {tuple(scores.shape)}, of the same size or 1")
    hidden = ~mask
    somewhere = mask.any(-1, keepdim=True)                                           # false: this row may look nowhere
    finite = scores.masked_fill(hidden, 0).masked_fill(hidden & somewhere, -math.inf)
    return finite.softmax(-1).masked_fill(hidden, 0)


def causal_mask(queries: int, keys: int | None = None, *, first: int = 0) -> Tensor:
    """The mask by which no position sees a later one, shape (queries, keys), bool.

    Parameters
    ----------
    queries, keys : int
        T and S; as many keys as queries where S is not given.
    first : int
        Position of the first query among the keys: query i sees keys 0 to `first` + i. Zero gives the mask of PyTorch's
        `is_causal=True`; S - T that of queries which follow on S - T cached keys.
    """
    queries, keys = count("queries", queries), count("keys", queries if keys is None else keys)
    if first < 0:
        raise ValueError(f"first is {first}; it must be 0 or above")
    return torch.arange(keys) <= torch.arange(first, first + queries)[:, None]


def _widths(query: Tensor, keys: Tensor, *, equal: bool = True) -> None:
    if query.ndim < 2 or keys.ndim < 2 or (equal and query.shape[-1] != keys.shape[-1]):
        raise ValueError(f"query has shape {tuple(query.shape)} and keys {tuple(keys.shape)}; they must be (..., T, d_q) and "
                         f"(..., S, d_k){', of one width' if equal else ''}")


def dot_scores(query: Tensor, keys: Tensor) -> Tensor:
    """Scores q . k of queries (..., T, d) and keys (..., S, d), shape (..., T, S) (Luong et al. 2015)."""
    _widths(query, keys)
    return query @ keys.transpose(-1, -2)


def scaled_scores(query: Tensor, keys: Tensor) -> Tensor:
    """Scores q . k / sqrt(d), shape (..., T, S): variance one where the entries have it (Vaswani et al. 2017)."""
    return dot_scores(query, keys) / math.sqrt(query.shape[-1])


def general_scores(query: Tensor, keys: Tensor, W: Tensor) -> Tensor:
    """Scores q^T W k of queries (..., T, d_q) and keys (..., S, d_k) with W (d_q, d_k), shape (..., T, S)."""
    _widths(query, keys, equal=False)
    return query @ W @ keys.transpose(-1, -2)


def additive_scores(query: Tensor, keys: Tensor, W_a: Tensor, U_a: Tensor, v_a: Tensor) -> Tensor:
    """Scores v_a^T tanh(W_a q + U_a k), shape (..., T, S) (Bahdanau et al. 2015).

    Parameters
    ----------
    query, keys : Tensor, shapes (..., T, d_q) and (..., S, d_k)
    W_a, U_a, v_a : Tensor, shapes (d_a, d_q), (d_a, d_k) and (d_a,)
    """
    _widths(query, keys, equal=False)
    return _add_and_score(query @ W_a.T, keys @ U_a.T, v_a)


def _add_and_score(mapped_query: Tensor, mapped_keys: Tensor, v_a: Tensor) -> Tensor:
    return torch.tanh(mapped_query[..., :, None, :] + mapped_keys[..., None, :, :]) @ v_a  # (..., T, S, d_a) -> (..., T, S)


def attend(scores: Tensor, values: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Weighted sums of the values, a_t = sum_j alpha_tj v_j, and the weights alpha.

    Parameters
    ----------
    scores, values : Tensor, shapes (..., T, S) and (..., S, d_v)
        Values are finite, on padding too: a weight of zero times NaN is NaN.
    mask : Tensor of bool, optional
        See `masked_softmax`. A query that may look nowhere gets the context zero.

    Returns
    -------
    context, weights : Tensor, shapes (..., T, d_v) and (..., T, S)
    """
    if scores.ndim < 2 or values.ndim < 2 or scores.shape[-1] != values.shape[-2]:
        raise ValueError(f"scores has shape {tuple(scores.shape)} and values {tuple(values.shape)}; "
                         "they must be (..., T, S) and (..., S, d_v)")
    weights = masked_softmax(scores, mask)
    return weights @ values, weights


class AdditiveAttention(nn.Module):
    """Additive attention of a decoder over annotations, which are keys and values at once (Bahdanau et al. 2015).

    Parameters
    ----------
    query_size, key_size, attention_size : int
        d_q, d_k and d_a: (d_q + d_k + 1) d_a parameters, no biases.
    """

    def __init__(self, query_size: int, key_size: int, attention_size: int) -> None:
        super().__init__()
        sizes = count("query_size", query_size), count("key_size", key_size), count("attention_size", attention_size)
        self.W_a = nn.Linear(sizes[0], sizes[2], bias=False)
        self.U_a = nn.Linear(sizes[1], sizes[2], bias=False)
        self.v_a = nn.Linear(sizes[2], 1, bias=False)

    def prepare(self, keys: Tensor) -> Tensor:
        """U_a h_j for every annotation, (B, S, d_k) to (B, S, d_a): the same at every decoder step, so computed once."""
        return self.U_a(keys)

    def forward(self, query: Tensor, keys: Tensor, mask: Tensor | None = None, *,
                prepared: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Contexts and weights.

        Parameters
        ----------
        query : Tensor, shape (B, d_q) for one decoder step, or (B, T, d_q) for all at once
        keys : Tensor, shape (B, S, d_k)
        mask : Tensor of bool, optional, shape (B, S) with one step, (B or 1, T or 1, S) with all
        prepared : Tensor, optional, shape (B, S, d_a)
            What `prepare(keys)` returned.

        Returns
        -------
        context, weights : Tensor, shapes (B, d_k) and (B, S), or (B, T, d_k) and (B, T, S)
        """
        if keys.ndim != 3 or query.ndim not in (2, 3) or len(query) != len(keys):
            raise ValueError(f"query has shape {tuple(query.shape)} and keys {tuple(keys.shape)}; "
                             "they must be (B, d_q) or (B, T, d_q), and (B, S, d_k)")
        single = query.ndim == 2
        scores = _add_and_score(self.W_a(query[:, None] if single else query),
                                self.prepare(keys) if prepared is None else prepared, self.v_a.weight[0])
        context, weights = attend(scores, keys, mask[:, None] if single and mask is not None else mask)
        return (context[:, 0], weights[:, 0]) if single else (context, weights)
