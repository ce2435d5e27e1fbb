"""Probes of a sequence model that need its inputs and nothing else: what its answer depends on, and must not.

A model is anything callable: from x of shape (B, T, d_in), and lengths of shape (B,), to answers of shape (B, n), or
to outputs of shape (B, T, n) where a probe asks for outputs at each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Answer = Callable[[Tensor, Tensor], Tensor]


def checked(x: Tensor, lengths: Tensor) -> None:
    """Refuse inputs that are not a padded batch.

    Raises
    ------
    ValueError
        If x has not three axes or holds values that are not finite, or the lengths do not fit it.
    """
    if x.dim() != 3 or 0 in x.shape:
        raise ValueError(f"x has shape {tuple(x.shape)}; it must be (B, T, d_in), none of them 0")
    if not torch.isfinite(x).all():
        raise ValueError("x holds NaN or infinite values; replace them first")
    if lengths.shape != x.shape[:1] or not ((lengths >= 1) & (lengths <= x.shape[1])).all():
        raise ValueError(f"lengths must be {x.shape[0]} numbers from 1 to {x.shape[1]}; given {lengths.tolist()}")


@torch.no_grad()
def future_gap(outputs: Callable[[Tensor], Tensor], x: Tensor, step: int) -> Tensor:
    """How much each output moves when the inputs after `step` are raised by one.

    Parameters
    ----------
    outputs : callable
        From x of shape (B, T, d_in) to outputs of shape (B, T, n).
    step : int
        From 1 to T - 1; the inputs of steps `step` + 1 to T change.

    Returns
    -------
    Tensor
        Shape (T,): the largest change at each step. For a causal model the first `step` entries are zero.
    """
    checked(x, torch.full(x.shape[:1], x.shape[1] if x.dim() == 3 else 0))
    if not 1 <= step < x.shape[1]:
        raise ValueError(f"step is {step}; it must lie between 1 and {x.shape[1] - 1}")
    other = x.clone()
    other[:, step:] += 1.0
    return (outputs(other) - outputs(x)).abs().amax(dim=(0, 2))


@torch.no_grad()
def padding_gap(answer: Answer, x: Tensor, lengths: Tensor, extra: int) -> float:
    """Largest change of an answer when `extra` steps of zeros are put behind every sequence."""
    checked(x, lengths)
    if extra < 1:
        raise ValueError(f"extra is {extra}; it must be at least 1")
    longer = torch.nn.functional.pad(x, (0, 0, 0, extra))
    return (answer(longer, lengths) - answer(x, lengths)).abs().max().item()


@torch.no_grad()
def company_gap(answer: Answer, x: Tensor, lengths: Tensor) -> float:
    """Largest difference between the answer to a sequence in its batch and the answer to it alone, cut to its length."""
    checked(x, lengths)
    together = answer(x, lengths)
    alone = [answer(x[row:row + 1, :length], lengths[row:row + 1]) for row, length in enumerate(lengths.tolist())]
    return (together - torch.cat(alone)).abs().max().item()


@torch.no_grad()
def order_gap(answer: Answer, batches: Sequence[tuple[Tensor, Tensor]]) -> float:
    """Largest change of an answer when the same batches come in the reverse order.

    Parameters
    ----------
    batches : sequence of (x, lengths)
        At least two.
    """
    if len(batches) < 2:
        raise ValueError(f"batches has {len(batches)} entry; an order needs two or more")
    for x, lengths in batches:
        checked(x, lengths)
    forwards = [answer(*batch) for batch in batches]
    backwards = [answer(*batch) for batch in reversed(batches)][::-1]
    return max((one - other).abs().max().item() for one, other in zip(forwards, backwards, strict=True))
