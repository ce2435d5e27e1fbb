"""Sensor faults put into a normal record, so that a monitor can be judged on faults whose onset is known.

Dimensions: a record has N samples of one channel, shape (N,), or of m channels, shape (N, m). A fault lasts from
sample `start` to before sample `stop`. These are faults of the sensor or of the logger: what the machine does stays as it
was. A fault of the machine (a softer mount, a stronger excitation) changes its equations and must be simulated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.arguments import count
from lessonlib.monitoring import series

KINDS = ("spike", "offset", "drift", "noise", "gain", "stuck", "replay")


class Fault(NamedTuple):
    """One fault: its kind, first sample, first sample after it, size and channel.

    kind        size
    spike       added to every sample of the fault, as a rule one
    offset      added from the first sample to the last
    drift       reached at the last sample by a straight ramp from zero
    noise       standard deviation of white Gaussian noise that is added
    gain        relative change of the deviation from the last good value: 0.2 reads a change 20 % too large
    stuck       not used: the value of the sample before `start` is repeated
    replay      lag in samples, a whole number: the channel shows what it showed that much earlier
    """

    kind: str
    start: int
    stop: int
    size: float = 0.0
    channel: int = 0


def checked_fault(fault: Fault, samples: int, channels: int) -> Fault:
    """The fault, or a ValueError if it does not fit a record of that many samples and channels."""
    kind, start, stop, size, channel = fault
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")
    first = {"stuck": 1, "gain": 1, "replay": size}.get(kind, 0)
    if not (start == int(start) and stop == int(stop) and first <= start < stop <= samples):
        raise ValueError(f"{kind} from start {start} to stop {stop} does not fit a record of {samples} samples; they must be whole "
                         f"numbers with {first:g} <= start < stop <= {samples}")
    if not np.isfinite(size) or (kind == "noise" and size < 0):
        raise ValueError(f"size of the {kind} is {size}; it must be finite, and not negative for noise")
    if kind == "replay" and (size != int(size) or size < 1):
        raise ValueError(f"size of the replay is {size}; it must be a lag of one or more whole samples")
    if channel != int(channel) or not 0 <= channel < channels:
        raise ValueError(f"channel is {channel}; the record has channels 0 to {channels - 1}")
    return fault


def inject(record: ArrayLike, faults: Iterable[Fault], *, rng: np.random.Generator | None = None) -> np.ndarray:
    """A copy of the record with the faults in it, one after the other in the order given.

    Parameters
    ----------
    record : shape (N,) or (N, m)
    faults : iterable of Fault
    rng : np.random.Generator, optional
        Needed for faults of kind `noise`.

    Returns
    -------
    np.ndarray, shape of `record`, float64
    """
    faulty = series("record", record).copy()
    columns = faulty.reshape(len(faulty), -1)  # a view: the copy is contiguous
    for fault in faults:
        kind, start, stop, size, channel = checked_fault(Fault(*fault), *columns.shape)
        part = columns[start:stop, channel]
        if kind in ("spike", "offset"):
            part += size
        elif kind == "drift":
            part += size * np.arange(1, len(part) + 1) / len(part)
        elif kind == "noise":
            if rng is None:
                raise ValueError("rng is not given; a fault of kind noise draws from it: pass np.random.default_rng(seed)")
            part += size * rng.standard_normal(len(part))
        elif kind == "gain":
            part += size * (part - columns[start - 1, channel])
        elif kind == "stuck":
            part[:] = columns[start - 1, channel]
        else:
            part[:] = columns[start - int(size):stop - int(size), channel].copy()
    return faulty


def spaced_starts(samples: int, length: int, n: int, rng: np.random.Generator, *, first: int = 0, apart: int = 0) -> list[int]:
    """Starts of `n` faults of `length` samples at random places, in order, with at least `apart` samples between two.

    Parameters
    ----------
    first : int
        No fault starts before this sample.
    """
    length, n = count("length", length), count("n", n)
    if min(first, apart) < 0:
        raise ValueError(f"first is {first} and apart {apart}; neither may be negative")
    room = samples - first - n * length - (n - 1) * apart
    if room < 0:
        raise ValueError(f"samples is {samples}; {n} faults of {length} samples with {apart} between them, from sample {first} on, "
                         f"need {samples - room}: take fewer or shorter faults, or a longer record")
    offsets = np.sort(rng.integers(0, room + 1, size=n))
    return [first + int(offset) + i * (length + apart) for i, offset in enumerate(offsets)]
