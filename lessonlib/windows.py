"""From a series to examples: windows and horizons, and walk-forward folds.

Dimensions: N samples in time, C channels, K known inputs, n windows, W samples in a window, h steps ahead,
D target channels. Window i ends at sample t_i and its targets are the samples t_i + 1 ... t_i + h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from lessonlib.series import Array, numbers, whole


@dataclass(frozen=True)
class Windows:
    """Examples cut from one series, in the order of time.

    Attributes
    ----------
    inputs : np.ndarray, shape (n, W, C + K)
        The measured channels, then the known inputs one step ahead of them: next to sample s stands what is
        known of step s + 1.
    targets : np.ndarray, shape (n, h), or (n, h, D) where several channels are forecast
    future : np.ndarray, shape (n, h, K)
        The known inputs of the steps that are forecast; K may be 0.
    first : np.ndarray, shape (n,), int
        Sample number of the first target, t + 1.
    """

    inputs: Array
    targets: Array
    future: Array
    first: Array

    def __len__(self) -> int:
        return len(self.first)

    @property
    def horizon(self) -> int:
        """h, the number of steps that are forecast."""
        return self.targets.shape[1]

    def rows(self, index: Any) -> Windows:
        """The windows that `index` (numbers, a mask or a slice) names."""
        chosen = replace(self, inputs=self.inputs[index], targets=self.targets[index], future=self.future[index],
                         first=self.first[index])
        if chosen.first.ndim != 1 or not len(chosen):
            raise ValueError("index leaves no windows, or is one number; give a mask, a slice or a list that keeps at least one")
        return chosen

    def between(self, start: int, stop: int, *, inputs_too: bool = False) -> Windows:
        """The windows whose targets all lie in samples `start` to `stop - 1`.

        Parameters
        ----------
        inputs_too : bool
            Keep only windows that lie wholly inside, inputs as well. Otherwise a window may reach back before
            `start`, as it would in service.

        Raises
        ------
        ValueError
            If no window is left.
        """
        earliest = self.first - self.inputs.shape[1] if inputs_too else self.first
        keep = (earliest >= start) & (self.first + self.horizon <= stop)
        if not keep.any():
            raise ValueError(f"start and stop are {start} and {stop}; no window of {self.inputs.shape[1]} samples and "
                             f"{self.horizon} targets fits between them; move them apart or shorten window or horizon")
        return self.rows(keep)

    def tensors(self, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
        """Inputs (n, W, C + K) and targets as tensors for a network with `batch_first`."""
        return torch.as_tensor(self.inputs, dtype=dtype), torch.as_tensor(self.targets, dtype=dtype)


def make_windows(series: ArrayLike, window: int, horizon: int = 1, *, target: int | Sequence[int] = 0,
                 known: ArrayLike | None = None) -> Windows:
    """Slide a window of W samples along a series and pair it with the h samples after it.

    Parameters
    ----------
    series : array_like, shape (N,) or (N, C)
        The measured channels, unknown after the window ends.
    window, horizon : int
        W and h.
    target : int or sequence of int
        The channel to forecast, or several.
    known : array_like, shape (N,) or (N, K), optional
        Inputs known in advance, such as set-points or a schedule, at the same samples as the series.

    Returns
    -------
    Windows
        n = N - W - h + 1 examples, one for each sample at which a window ends and h samples follow.

    Raises
    ------
    ValueError
        For a series that is empty, too short or not finite, channels that do not exist, and known inputs of
        another length.
    """
    array = numbers("series", series)
    array = array[:, None] if array.ndim == 1 else array
    whole("window", window)
    whole("horizon", horizon)
    n = len(array) - window - horizon + 1
    if n < 1:
        raise ValueError(f"series has {len(array)} samples; window={window} and horizon={horizon} need at least "
                         f"{window + horizon}; shorten one or bring more data")
    channels = [target] if isinstance(target, (int, np.integer)) else list(target)
    if not channels or any(not 0 <= c < array.shape[1] for c in channels):
        raise ValueError(f"target is {target!r}; series has channels 0 to {array.shape[1] - 1}, name one or more of them")
    plan = np.empty((len(array), 0)) if known is None else numbers("known", known)
    plan = plan[:, None] if plan.ndim == 1 else plan
    if len(plan) != len(array):
        raise ValueError(f"known has {len(plan)} samples and series {len(array)}; give both at the same times")
    past = np.arange(n)[:, None] + np.arange(window)                    # (n, W)
    ahead = np.arange(n)[:, None] + window + np.arange(horizon)         # (n, h)
    targets = array[ahead][..., channels]
    return Windows(inputs=np.concatenate([array[past], plan[past + 1]], axis=2),
                   targets=targets[..., 0] if isinstance(target, (int, np.integer)) else targets,
                   future=plan[ahead], first=np.arange(n) + window)


@dataclass(frozen=True)
class Fold:
    """One origin of a walk-forward evaluation: sample numbers, stop excluded.

    Attributes
    ----------
    train, test : slice
        Of the samples that may be fitted on, and of those whose forecasts are scored.
    """

    train: slice
    test: slice

    def split(self, windows: Windows, *, inputs_too: bool = False) -> tuple[Windows, Windows]:
        """Training windows, wholly inside `train`, and test windows with all their targets inside `test`."""
        return (windows.between(self.train.start, self.train.stop, inputs_too=True),
                windows.between(self.test.start, self.test.stop, inputs_too=inputs_too))


def walk_forward(samples: int, *, first_origin: int, block: int, gap: int = 0, folds: int | None = None,
                 longest: int | None = None) -> list[Fold]:
    """Folds of a walk-forward (rolling-origin) evaluation (Tashman, 2000).

    Fold i trains on the samples before its origin, `first_origin + i block`, and is scored on the `block`
    samples after the gap. No target of training lies in a test block, whatever the horizon, as long as windows
    are chosen by `Fold.split`; the gap stands for data that are not there yet when the forecast is made.

    Parameters
    ----------
    samples : int
        N.
    first_origin, block : int
        Samples before the first origin, and samples scored in each fold (also the step from origin to origin).
    gap : int
        Samples left out between training and test. Where training windows are chosen by their inputs alone, it
        must be at least the horizon.
    folds : int, optional
        How many; as many whole blocks as fit where it is not given.
    longest : int, optional
        Train on at most this many samples before the origin, a sliding window; all of them otherwise.
    """
    whole("samples", samples)
    whole("first_origin", first_origin)
    whole("block", block)
    whole("gap", gap, 0)
    fitting = (samples - first_origin - gap) // block
    if fitting < 1:
        raise ValueError(f"samples is {samples}; first_origin={first_origin}, gap={gap} and block={block} need "
                         f"{first_origin + gap + block}; move the origin forward or shorten the block")
    folds = fitting if folds is None else whole("folds", folds, 1, fitting, "shorten the block or start earlier")
    if longest is not None:
        whole("longest", longest)
    origins = [first_origin + i * block for i in range(folds)]
    return [Fold(slice(0 if longest is None else max(0, o - longest), o), slice(o + gap, o + gap + block)) for o in origins]
