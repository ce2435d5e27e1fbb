"""The trainings of the mount lab: networks in the units of the sensor, in the order of the source and each on its own seed.

Dimensions: N samples of the sensor, n windows of W = 64 samples, h horizons. Inputs have shape (n, W, 1), targets and
forecasts (n, h), both in the units of the series; a network sees z-scores by the samples before its origin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from lessonlib.forecasters import EPOCHS, LSTMForecaster, fit_forecaster, forecast, recursive_forecast
from lessonlib.scaling import SeriesScale
from lessonlib.series import whole
from lessonlib.windows import make_windows

WINDOW, HORIZON = 64, 20
ORIGINS = (4000, 5000, 6000, 7000)
ORIGIN, BLOCK = 6000, 1000  # origin of the failure, the horizons and the monitor; samples of a test block


@dataclass(frozen=True)
class Fitted:
    """A trained network and the scale of the samples before its origin.

    Attributes
    ----------
    model : nn.Module
        Maps z-scored windows (n, W, 1) to z-scored forecasts (n, h).
    scale : SeriesScale
        Of one channel.
    """

    model: nn.Module
    scale: SeriesScale

    def scaled(self, values: np.ndarray) -> Tensor:
        """z-scores in float32, of any shape."""
        return torch.as_tensor((values - self.scale.mean) / self.scale.sd, dtype=torch.float32)

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """Forecasts (n, h) from windows (n, W, 1)."""
        return self.scale.undo(forecast(self.model, self.scaled(inputs)))

    def recursive(self, inputs: np.ndarray, horizon: int = HORIZON) -> np.ndarray:
        """Forecasts (n, horizon) of a one-step network that reads its own forecasts."""
        return self.scale.undo(recursive_forecast(lambda w: forecast(self.model, w), self.scaled(inputs), horizon))

    def residuals(self, series: np.ndarray, start: int, stop: int) -> np.ndarray:
        """Reading minus one-step forecast for the samples `start` to `stop - 1`, shape (stop - start,)."""
        return one_step_residuals(self.predict, series, start, stop)


def one_step_residuals(predict: Callable[[np.ndarray], np.ndarray], series: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Reading minus one-step forecast, in pieces, so that a record of days fits into memory.

    Parameters
    ----------
    predict : callable
        Forecasts (n, 1) from windows (n, W, 1), in the units of the series.
    series : array, shape (N,)
    start, stop : int
        First reading that is forecast, and the first one after the last.

    Returns
    -------
    array, shape (stop - start,)
    """
    start, stop = whole("start", start, WINDOW), whole("stop", stop, start + 1, len(series))
    past = np.lib.stride_tricks.sliding_window_view(series, WINDOW)        # row t: samples t ... t + W - 1
    pieces = [predict(past[t - WINDOW:min(t + 8192, stop) - WINDOW, :, None])[:, 0] for t in range(start, stop, 8192)]
    return series[start:stop] - np.concatenate(pieces)


def fit_before(make: Callable[[], nn.Module], series: np.ndarray, origin: int, *, generator: torch.Generator, horizon: int = 1,
               epochs: int = EPOCHS, after_epoch: Callable[[int, Fitted], object] | None = None) -> Fitted:
    """Build and train a network on all windows whose targets lie before `origin`, scaled by the samples before it.

    Parameters
    ----------
    make : callable
        Builds the network, which is then in whatever state PyTorch's global generator puts it.
    series : array, shape (N,)
    generator : torch.Generator
        Orders the windows.
    after_epoch : callable, optional
        Called with the epochs done and the network so far.
    """
    origin = whole("origin", origin, WINDOW + horizon, len(series))
    fitted = Fitted(make(), SeriesScale.fit(series[:origin]))
    windows = make_windows(series[:origin], WINDOW, horizon)
    report = None if after_epoch is None else lambda epoch: after_epoch(epoch, fitted)
    fit_forecaster(fitted.model, fitted.scaled(windows.inputs), fitted.scaled(windows.targets), generator=generator,
                   epochs=epochs, after_epoch=report)
    return fitted


def plan() -> list[tuple[str | int, int, Callable[[], nn.Module], int]]:
    """Name, origin, maker and horizon of the six LSTMs, in the order of the source."""
    others = (origin for origin in ORIGINS if origin != ORIGIN)
    return [("global", ORIGIN, lambda: LSTMForecaster(per_window=False), 1),
            *((origin, origin, LSTMForecaster, 1) for origin in (ORIGIN, *others)),
            ("direct", ORIGIN, lambda: LSTMForecaster(horizons=HORIZON), HORIZON)]


def source_run(series: np.ndarray, seed: int, *, epochs: int = EPOCHS,
               after_epoch: Callable[[str | int, int, Fitted], object] | None = None) -> dict[str | int, Fitted]:
    """The six LSTMs of the source's lab, in its order, from one global generator.

    The generator is seeded before the first network is built and again before each training. So only the first network
    starts from the seed itself; each later one starts from where the training before it left the generator.

    Parameters
    ----------
    after_epoch : callable, optional
        Called with the name of the network, the epochs done and the network so far.

    Returns
    -------
    dict
        "global" (not normalised by window) and "direct" (20 horizons) at origin 6000, and a one-step network at each
        origin under its number.
    """
    done: dict[str | int, Fitted] = {}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for name, origin, make, horizon in plan():
            def built(make: Callable[[], nn.Module] = make) -> nn.Module:
                model = make()
                torch.manual_seed(seed)
                return model
            report = None if after_epoch is None else partial(after_epoch, name)
            done[name] = fit_before(built, series, origin, generator=torch.default_generator, horizon=horizon,
                                    epochs=epochs, after_epoch=report)
    return done


def fresh_fit(make: Callable[[], nn.Module], series: np.ndarray, origin: int, seed: int, *, horizon: int = 1,
              epochs: int = EPOCHS, after_epoch: Callable[[int, Fitted], object] | None = None) -> Fitted:
    """A network that depends on its own seed only: weights and dropout from one generator, the order from another of that seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return fit_before(make, series, origin, generator=torch.Generator().manual_seed(seed), horizon=horizon, epochs=epochs,
                          after_epoch=after_epoch)


def fresh_run(series: np.ndarray, seed: int, *, epochs: int = EPOCHS,
              after_epoch: Callable[[str | int, int, Fitted], object] | None = None) -> dict[str | int, Fitted]:
    """The networks of `source_run`, each from a generator of its own, so that none depends on what was trained before it."""
    return {name: fresh_fit(make, series, origin, seed, horizon=horizon, epochs=epochs,
                            after_epoch=None if after_epoch is None else partial(after_epoch, name))
            for name, origin, make, horizon in plan()}
