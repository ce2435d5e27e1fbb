"""Normalisation that can be undone: of a whole series by its training part, and of each window by itself.

Dimensions: N samples in time, C channels, n windows, W samples in a window, h steps ahead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from lessonlib.series import Array, numbers, whole

NORMALISATIONS = ("none", "last", "mean", "mean-sd")


@dataclass(frozen=True)
class SeriesScale:
    """Mean and standard deviation of each channel, for z-scores of the whole series.

    Attributes
    ----------
    mean, sd : np.ndarray, shape (C,), or () for a series of one channel
    """

    mean: Array
    sd: Array

    @classmethod
    def fit(cls, train: ArrayLike) -> SeriesScale:
        """The scale of the training samples, shape (N,) or (N, C); the population formula, as `np.std`.

        Raises
        ------
        ValueError
            If a channel does not vary.
        """
        array = numbers("train", train)
        sd = array.std(axis=0)
        if not (np.ptp(array, axis=0) > 0).all():
            raise ValueError("train has a channel that never varies, so its z-score is undefined; leave the channel out")
        return cls(array.mean(axis=0), sd)

    def apply(self, series: ArrayLike) -> Array:
        """z-scores, shape (N,) or (N, C) as in `fit`."""
        array = numbers("series", series)
        if array.shape[1:] != self.mean.shape:
            raise ValueError(f"series has shape {array.shape} and the scale {self.mean.size} channels of shape "
                             f"{self.mean.shape}; give the channels that the scale was fitted on")
        return (array - self.mean) / self.sd

    def undo(self, scaled: ArrayLike, channel: int | None = None) -> Array:
        """Values in the units of the series from z-scores of any shape.

        Parameters
        ----------
        scaled : array_like
            Of one channel, any shape; or of all channels along the last axis.
        channel : int, optional
            Which channel `scaled` belongs to, where the scale has more than one.
        """
        array = numbers("scaled", scaled, tuple(range(9)))
        if channel is None:
            if self.mean.ndim and array.shape[-1:] != self.mean.shape:
                raise ValueError(f"scaled has shape {array.shape} and the scale {self.mean.size} channels; name one with channel=")
            return array * self.sd + self.mean
        if not self.mean.ndim:
            raise ValueError(f"channel is {channel}, but the scale was fitted on a series of one channel; leave channel out")
        channel = whole("channel", channel, 0, self.mean.size - 1)
        return array * self.sd[channel] + self.mean[channel]


@dataclass(frozen=True)
class WindowScale:
    """Shift and scale of each window and channel; kept to bring forecasts back to the units of the series.

    Attributes
    ----------
    shift, scale : np.ndarray or Tensor, shape (n, 1, C)
    """

    shift: Any
    scale: Any

    def _of(self, values: Any, channel: int) -> tuple[Any, Any]:
        channel = whole("channel", channel, 0, self.shift.shape[2] - 1)
        if values.ndim != 2 or len(values) != len(self.shift):
            raise ValueError(f"values has shape {tuple(values.shape)}; it must be ({len(self.shift)}, h), a row for each window")
        return self.shift[:, :, channel], self.scale[:, :, channel]

    def apply(self, targets: Any, channel: int = 0) -> Any:
        """Targets (n, h) of one channel on the scale of their windows."""
        shift, scale = self._of(targets, channel)
        return (targets - shift) / scale

    def undo(self, forecasts: Any, channel: int = 0) -> Any:
        """Forecasts (n, h) of one channel in the units of the series, the inverse of `apply`."""
        shift, scale = self._of(forecasts, channel)
        return forecasts * scale + shift


def normalise_windows(inputs: Any, how: str = "last") -> tuple[Any, WindowScale]:
    """Shift (and scale) every window by a number of its own, so that a model sees shape and not level.

    Parameters
    ----------
    inputs : np.ndarray or Tensor, shape (n, W, C)
        Gradients pass through a tensor.
    how : {'none', 'last', 'mean', 'mean-sd'}
        What is subtracted: nothing, the last value, or the mean; 'mean-sd' also divides by the standard
        deviation of the window, as reversible instance normalisation does (Kim et al., 2022).
        A constant window is divided by 1.

    Returns
    -------
    scaled, WindowScale
        Of the kind that was given.
    """
    if how not in NORMALISATIONS:
        raise ValueError(f"how is {how!r}; it must be one of {', '.join(NORMALISATIONS)}")
    if not isinstance(inputs, Tensor):
        inputs = np.asarray(inputs, dtype=float)
    numbers("inputs", inputs, (3,))
    shift = inputs[:, -1:] if how == "last" else inputs.mean(1)[:, None] if how != "none" else 0 * inputs[:, -1:]
    scale = shift ** 0
    if how == "mean-sd":
        variance = ((inputs - shift) ** 2).mean(1)[:, None]
        flat = variance <= 1e-24 * (1 + shift ** 2)
        scale = (variance + flat * (1 - variance)) ** 0.5
    return (inputs - shift) / scale, WindowScale(shift, scale)
