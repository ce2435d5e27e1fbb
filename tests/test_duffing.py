"""The mount: closed forms of its linear and of its undamped part, the order of its random numbers, and bad input."""

import math

import numpy as np
import pytest
from scipy.special import ellipk

from lessonlib.duffing import Mount, displacement, excited, simulate_mount

QUIET = {"load": 0.0, "forcing": 0.0, "drift": 0.0, "noise": 0.0}


def rng(seed=0):
    return np.random.default_rng(seed)


def test_the_series_of_the_lab():
    """Chaos multiplies rounding, so the figures of the source hold for its order of operations only."""
    series = simulate_mount(rng=rng())
    assert series.shape == (8000,)
    assert [series.min(), series.max()] == pytest.approx([-1.0018, 9.4908], abs=1e-4)
    assert [series.std(), series[:1000].mean(), series[-1000:].mean()] == pytest.approx([2.3816, 0.48873, 7.4849], abs=1e-4)


def test_nothing_moves_without_a_force():
    assert not displacement(Mount(**QUIET), np.zeros(40)).any()
    assert displacement(Mount(**QUIET), np.zeros(40)).shape == (4,)


@pytest.mark.parametrize("amplitude", [0.1, 0.5, 1.0])
def test_free_vibration_has_the_period_of_the_elliptic_integral(amplitude):
    """x'' = -w0^2 x - k3 x^3 from amplitude a: the period is 4 K(m) / sqrt(w0^2 + k3 a^2), m = k3 a^2 / (2 (w0^2 + k3 a^2))."""
    mount = Mount(damping=0.0, step=1e-4, substeps=1, **QUIET)
    stiffness = mount.natural_frequency**2 + mount.stiffening * amplitude**2
    period = 4 * ellipk(mount.stiffening * amplitude**2 / (2 * stiffness)) / math.sqrt(stiffness)
    energy = mount.natural_frequency**2 * amplitude**2 / 2 + mount.stiffening * amplitude**4 / 4
    kicks = np.zeros(round(2.2 * period / mount.step))
    kicks[0] = math.sqrt(2 * energy)                                       # all energy in the velocity
    path = displacement(mount, kicks)
    assert path.max() == pytest.approx(amplitude, rel=1e-3)
    upward = np.flatnonzero((path[:-1] < 0) & (path[1:] >= 0))
    assert (upward[0] + 1) * mount.step == pytest.approx(period, rel=1e-3)


def test_linear_mount_answers_its_load_as_the_closed_form_says():
    """Amplitude A / sqrt((w0^2 - w^2)^2 + (2 zeta w0 w)^2) after the start has died away."""
    mount = Mount(stiffening=0.0, damping=0.2, step=1e-3, substeps=10, load=3.0, load_period=2.5, forcing=0.0, drift=0.0, noise=0.0)
    path = simulate_mount(5000, rng=rng(), mount=mount)[-1000:]
    w0, w = mount.natural_frequency, 2 * math.pi / 2.5
    assert path.max() == pytest.approx(3 / math.hypot(w0**2 - w**2, 2 * 0.2 * w0 * w), rel=2e-3)


def test_linear_mount_under_noise_has_the_stationary_variance():
    """sigma_F^2 / (4 zeta w0^3) for x'' + 2 zeta w0 x' + w0^2 x = sigma_F xi."""
    mount = Mount(stiffening=0.0, damping=0.5, load=0.0, drift=0.0, noise=0.0)
    path = simulate_mount(20_000, rng=rng(3), mount=mount)[100:]
    assert path.var() == pytest.approx(9 / (4 * 0.5 * math.pi**3), rel=0.06)


def test_drift_and_noise_are_added_by_the_sensor():
    base = simulate_mount(300, rng=rng(), mount=Mount(drift=0.0, noise=0.0))
    drawn = rng()
    drawn.standard_normal(3000)
    expected = base + 0.002 * np.arange(300) + 0.1 * drawn.standard_normal(300)
    assert np.allclose(simulate_mount(300, rng=rng(), mount=Mount(drift=0.002, noise=0.1)), expected, atol=1e-15, rtol=0)


def test_runs_agree_up_to_the_first_sample_with_another_force():
    plain, doubled = simulate_mount(200, rng=rng()), simulate_mount(200, rng=rng(), force_scale=excited(200, {(120, 150): 2.0}))
    assert np.array_equal(plain[:120], doubled[:120]) and not np.isclose(plain[120:], doubled[120:]).all()
    assert np.array_equal(plain, simulate_mount(200, rng=rng(), force_scale=np.ones(200)))
    assert not np.array_equal(plain, simulate_mount(200, rng=rng(1)))


def test_excited_spans_exclude_their_end():
    assert excited(6, {(1, 3): 2.0, (5, 6): 0.0}).tolist() == [1, 2, 2, 1, 1, 0]


def test_a_season_and_a_day_in_samples():
    assert (Mount().season, Mount().samples_a_day) == (pytest.approx(50), pytest.approx(864_000))


BAD = {
    "damping": [lambda: Mount(damping=-0.1)],
    "forcing": [lambda: Mount(forcing=math.nan)],
    "noise": [lambda: Mount(noise=-1.0)],
    "step": [lambda: Mount(step=0.0), lambda: simulate_mount(50, rng=rng(), mount=Mount(step=1.0)),
             lambda: simulate_mount(500, rng=rng(), mount=Mount(step=1.0, stiffening=0.0))],
    "substeps": [lambda: Mount(substeps=0)],
    "load_period": [lambda: Mount(load_period=0.0)],
    "kicks": [lambda: displacement(Mount(), []), lambda: displacement(Mount(), np.zeros(15)), lambda: displacement(Mount(), np.zeros((10, 1))),
              lambda: displacement(Mount(), np.full(10, np.nan))],
    "samples": [lambda: simulate_mount(0, rng=rng()), lambda: excited(0, {})],
    "force_scale": [lambda: simulate_mount(5, rng=rng(), force_scale=np.ones(4)), lambda: simulate_mount(2, rng=rng(), force_scale=[1, -1]),
                    lambda: simulate_mount(2, rng=rng(), force_scale=[1, np.nan])],
    "spans": [lambda: excited(5, {(3, 6): 1.0}), lambda: excited(5, {(3, 3): 1.0}), lambda: excited(5, {(-1, 3): 1.0})],
}


@pytest.mark.parametrize("name, call", [(name, call) for name, calls in BAD.items() for call in calls])
def test_bad_input_names_the_argument(name, call):
    with pytest.raises(ValueError, match=name):
        call()
