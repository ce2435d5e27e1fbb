"""Batches of sequences of different lengths: padding, masks, packing, last states, buckets and streams.

Dimensions: B sequences in a batch, T steps of the longest of them (or more), d width of an input, H width of a
state. Sequence b has `lengths[b]` real steps, the first ones of its row; the steps after them are padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lessonlib.arguments import count

Lengths = Sequence[int] | Tensor


def checked_lengths(lengths: Lengths, steps: int | None = None) -> Tensor:
    """The lengths as an int64 tensor of shape (B,).

    Raises
    ------
    ValueError
        If there are none, if one is no whole number, below 1 or (where it is given) above `steps`.
    """
    made = torch.as_tensor(lengths).detach().cpu()
    if made.ndim != 1 or made.numel() == 0 or made.dtype.is_floating_point or made.dtype == torch.bool:
        raise ValueError(f"lengths has shape {tuple(made.shape)} and type {made.dtype}; "
                         "it must be a list of one or more whole numbers")
    if made.min() < 1 or (steps is not None and made.max() > steps):
        most = "" if steps is None else f" and at most {steps}"
        raise ValueError(f"lengths is {made.tolist()}; each must be at least 1{most}")
    return made.long()


def pad(sequences: Sequence[Tensor], *, steps: int | None = None, value: float = 0) -> tuple[Tensor, Tensor]:
    """Put sequences of different lengths into one array, with `value` after the end of each.

    Parameters
    ----------
    sequences : sequence of Tensor, each of shape (length, ...)
    steps : int, optional
        T, the width of the array; the longest length where it is not given.
    value : float
        What stands on the padding.

    Returns
    -------
    padded, lengths : Tensor, shapes (B, T, ...) and (B,)
    """
    if not len(sequences) or any(s.ndim == 0 or s.shape[1:] != sequences[0].shape[1:] for s in sequences):
        raise ValueError(f"sequences has shapes {[tuple(s.shape) for s in sequences]}; it must hold at least one, "
                         "all of the same shape but for the first axis")
    lengths = checked_lengths([len(s) for s in sequences], steps)
    shape = (len(sequences), int(lengths.max()) if steps is None else steps, *sequences[0].shape[1:])
    padded = sequences[0].new_full(shape, value)
    for row, sequence in zip(padded, sequences):
        row[:len(sequence)] = sequence
    return padded, lengths


def real_steps(lengths: Lengths, steps: int | None = None) -> Tensor:
    """The mask: true on real steps and false on padding, shape (B, T), bool; T is the longest length or `steps`."""
    lengths = checked_lengths(lengths, steps)
    return torch.arange(int(lengths.max()) if steps is None else steps) < lengths[:, None]


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the real steps, sum_bt m_bt l_bt / sum_bt m_bt; what stands on padding, NaN included, has no say.

    Parameters
    ----------
    values : Tensor, shape (B, T), or (B, T, d) for the mean of each channel
    mask : Tensor, shape (B, T)

    Returns
    -------
    Tensor, shape () or (d,)

    Raises
    ------
    ValueError
        If the shapes do not agree or no step is real.
    """
    if values.shape[:2] != mask.shape or not mask.any():
        raise ValueError(f"values has shape {tuple(values.shape)}, mask {tuple(mask.shape)} with {int(mask.sum())} real "
                         "steps; mask must have the first two axes of values and at least one real step")
    return values[mask.bool()].mean(0)


def running(lengths: Lengths) -> Tensor:
    """How many sequences still run at each step, shape (max length,): the `batch_sizes` of PyTorch's packing."""
    return real_steps(lengths).sum(0)


def run_packed(layer: nn.RNNBase, x: Tensor, lengths: Lengths, state: Any = None) -> tuple[Tensor, Any]:
    """Run a layer of PyTorch over the real steps only.

    Parameters
    ----------
    layer : nn.RNN, nn.GRU or nn.LSTM with `batch_first=True`
    x : Tensor, shape (B, T, d)
    lengths : shape (B,)
        In any order.
    state : optional
        As the layer takes it, one column a sequence, in the order of `x`.

    Returns
    -------
    outputs, state
        Outputs (B, T, directions H), zero on padding, and the state after each sequence's own last step,
        both in the order of `x`.
    """
    if not layer.batch_first or x.ndim != 3:
        raise ValueError(f"layer has batch_first={layer.batch_first} and x the shape {tuple(x.shape)}; "
                         "they must be True and (B, T, d)")
    lengths = checked_lengths(lengths, x.shape[1])
    if len(lengths) != len(x):
        raise ValueError(f"lengths has {len(lengths)} entries; x holds {len(x)} sequences")
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    outputs, state = layer(packed, state)
    return pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])[0], state


def last_state(outputs: Tensor, lengths: Lengths, *, bidirectional: bool = False) -> Tensor:
    """The output after each sequence's own last step.

    A forward state has read everything at step `length`, a backward state at step 1. The backward half is right
    only if the layer started it at the last real step, which packing does.

    Parameters
    ----------
    outputs : Tensor, shape (B, T, H), or (B, T, 2 H) with the forward half first
    lengths : shape (B,)

    Returns
    -------
    Tensor, shape (B, H) or (B, 2 H)
    """
    if outputs.ndim != 3 or (bidirectional and outputs.shape[2] % 2):
        raise ValueError(f"outputs has shape {tuple(outputs.shape)}; it must be (B, T, H), or (B, T, 2 H) where bidirectional")
    lengths = checked_lengths(lengths, outputs.shape[1])
    if len(lengths) != len(outputs):
        raise ValueError(f"lengths has {len(lengths)} entries; outputs holds {len(outputs)} sequences")
    last = outputs[torch.arange(len(lengths)), lengths - 1]
    half = outputs.shape[2] // 2
    return torch.cat([last[:, :half], outputs[:, 0, half:]], dim=1) if bidirectional else last


def wasted_share(batches: Sequence[Lengths]) -> float:
    """Share of the computed steps that are padding when each batch, given by its lengths, is padded to its longest."""
    if not len(batches):
        raise ValueError("batches is empty; it must hold the lengths of at least one batch")
    checked = [checked_lengths(lengths) for lengths in batches]
    return 1 - sum(int(row.sum()) for row in checked) / sum(len(row) * int(row.max()) for row in checked)


def length_batches(lengths: Lengths, batch_size: int, *, generator: torch.Generator, pool: int = 1) -> list[Tensor]:
    """Indices of one pass over the data in random batches, of similar lengths where `pool` is above 1.

    The data are shuffled, cut into pools of `pool` batches, sorted by length within each pool, and cut into
    batches, which are shuffled again. A pool of 1 is ordinary shuffling; a pool as large as the data sorts it.

    Returns
    -------
    list of Tensor
        Every index once; the batches have `batch_size` entries, but for the last of the data.
    """
    lengths, batch_size = checked_lengths(lengths), count("batch_size", batch_size)
    order = torch.randperm(len(lengths), generator=generator)
    pools = [part[lengths[part].argsort(stable=True)] for part in order.split(batch_size * count("pool", pool))]
    batches = [batch for part in pools for batch in part.split(batch_size)]
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


def stream_chunks(stream: Tensor, rows: int, chunk: int) -> Iterator[Tensor]:
    """Cut one long stream into `rows` parts, one a row, and hand out `chunk` steps of every row at a time.

    Row i of a chunk goes on where row i of the chunk before ended.
    What does not fill a row, and then a chunk, is left out at the end.

    Parameters
    ----------
    stream : Tensor, shape (N, ...)

    Yields
    ------
    Tensor, shape (rows, chunk, ...)
    """
    length = len(stream) // count("rows", rows)
    if length < count("chunk", chunk):
        raise ValueError(f"stream has {len(stream)} steps; {rows} rows of at least one chunk of {chunk} need {rows * chunk}")
    parts = stream[:rows * length].unflatten(0, (rows, length))
    return (parts[:, start:start + chunk] for start in range(0, length - chunk + 1, chunk))
