"""The trainings of the mount lab: their random numbers, their windows, and forecasts in the units of the sensor."""

import numpy as np
import pytest
import torch
from torch import nn

from lessonlib.duffing import simulate_mount
from lessonlib.forecasters import LSTMForecaster, TCNForecaster, fit_forecaster
from lessonlib.mount_forecasts import HORIZON, ORIGIN, WINDOW, Fitted, fit_before, fresh_fit, fresh_run, source_run
from lessonlib.scaling import SeriesScale


class Last(nn.Module):
    """Forecasts the last value; a window of z-scores in, z-scores out."""

    def forward(self, x):
        return x[:, -1] + 0.5


@pytest.fixture(scope="module")
def series():
    return simulate_mount(600, rng=np.random.default_rng(0))


def test_units_go_in_and_out(series):
    fitted = Fitted(Last(), SeriesScale.fit(series))
    inputs = np.lib.stride_tricks.sliding_window_view(series, WINDOW)[:50, :, None]
    step = 0.5 * series.std()
    assert np.allclose(fitted.predict(inputs)[:, 0], inputs[:, -1, 0] + step, atol=1e-5)
    assert np.allclose(fitted.recursive(inputs, 3), inputs[:, -1] + step * np.arange(1, 4), atol=1e-5)
    assert np.allclose(fitted.residuals(series, 100, 110), series[100:110] - series[99:109] - step, atol=1e-5)


def test_residuals_do_not_depend_on_the_pieces():
    long = np.random.default_rng(1).standard_normal(8192 + 300)
    fitted = Fitted(Last(), SeriesScale.fit(long))
    whole = fitted.residuals(long, WINDOW, len(long))
    assert whole.shape == (len(long) - WINDOW,) and np.allclose(whole, long[64:] - long[63:-1] - 0.5 * long.std(), atol=1e-5)
    assert np.allclose(fitted.residuals(long, 8250, 8300), whole[8250 - 64:8300 - 64], atol=1e-6)


def test_no_sample_from_the_origin_on_is_used(series):
    other = series.copy()
    other[400:] += 100
    a, b = (fresh_fit(lambda: TCNForecaster(4), s, 400, 0, epochs=1) for s in (series, other))
    assert a.scale.mean == b.scale.mean
    assert all(torch.equal(p, q) for p, q in zip(a.model.parameters(), b.model.parameters(), strict=True))


def test_a_fresh_fit_depends_on_its_seed_alone_and_leaves_the_generator(series):
    before = torch.random.get_rng_state()
    a = fresh_fit(lambda: LSTMForecaster(3), series, 300, 1, epochs=1)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.rand(3)
    b, c = (fresh_fit(lambda: LSTMForecaster(3), series, 300, seed, epochs=1) for seed in (1, 2))
    assert all(torch.equal(p, q) for p, q in zip(a.model.parameters(), b.model.parameters(), strict=True))
    assert not torch.equal(a.model.head.weight, c.model.head.weight)


def test_the_source_run_chains_its_networks(monkeypatch, series):
    """The second network starts from the generator as the first training left it, seeded anew before the training."""
    monkeypatch.setattr("lessonlib.mount_forecasts.ORIGIN", 300)
    monkeypatch.setattr("lessonlib.mount_forecasts.ORIGINS", (200, 300))
    seen = []
    fresh = fresh_run(series, 1, epochs=1)
    alone = fresh_fit(LSTMForecaster, series, 200, 1, epochs=1)
    assert list(fresh) == ["global", 300, 200, "direct"]
    assert all(torch.equal(p, q) for p, q in zip(fresh[200].model.parameters(), alone.model.parameters(), strict=True))
    before = torch.random.get_rng_state()
    done = source_run(series, 3, epochs=1, after_epoch=lambda name, epoch, fitted: seen.append((name, epoch)))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert list(done) == ["global", 300, 200, "direct"] and seen == [(name, 1) for name in ("global", 300, 200, "direct")]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        for name, make in (("global", lambda: LSTMForecaster(per_window=False)), (300, LSTMForecaster)):
            model = make()
            torch.manual_seed(3)
            windows = np.lib.stride_tricks.sliding_window_view(series[:300], WINDOW + 1)[:, :, None]
            scaled = torch.tensor((windows - series[:300].mean()) / series[:300].std(), dtype=torch.float32)
            fit_forecaster(model, scaled[:, :-1], scaled[:, -1], generator=torch.default_generator, epochs=1)
            assert all(torch.equal(p, q) for p, q in zip(model.parameters(), done[name].model.parameters(), strict=True))
    assert done["direct"].predict(np.zeros((2, WINDOW, 1))).shape == (2, HORIZON)


@pytest.mark.parametrize("name, call", [
    ("origin", lambda s: fresh_fit(LSTMForecaster, s, WINDOW, 0)), ("origin", lambda s: fresh_fit(LSTMForecaster, s, len(s) + 1, 0)),
    ("epochs", lambda s: fit_before(LSTMForecaster, s, 200, generator=torch.Generator(), epochs=0)),
    ("start", lambda s: Fitted(Last(), SeriesScale.fit(s)).residuals(s, WINDOW - 1, 100)),
    ("stop", lambda s: Fitted(Last(), SeriesScale.fit(s)).residuals(s, 100, len(s) + 1)),
    ("train", lambda s: fit_before(LSTMForecaster, np.ones(300), 200, generator=torch.Generator()))])
def test_bad_input_names_the_argument(series, name, call):
    with pytest.raises(ValueError, match=name):
        call(series)


def test_the_origins_of_the_lab():
    assert (ORIGIN, WINDOW, HORIZON) == (6000, 64, 20)
