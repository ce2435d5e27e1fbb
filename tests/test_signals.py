"""Simulated signals against SciPy's filter and their own definition."""

import numpy as np
import pytest
import scipy.signal

from lessonlib.signals import autoregression, drifting_vibration, loaded_machine, noisy_parabola, parabola


@pytest.mark.parametrize("coefficients", [[0.9], [1.6, -0.9], [0.5, 0.1, -0.2, 0.3]])
def test_the_recursion_equals_a_filter_of_scipy(coefficients):
    drive = np.random.default_rng(0).standard_normal(300)
    expected = scipy.signal.lfilter([1.0], np.concatenate([[1.0], -np.array(coefficients)]), drive)
    np.testing.assert_allclose(autoregression(drive, coefficients), expected, atol=1e-10)


def test_the_drifting_series_is_its_formula():
    t, e = np.arange(4000), np.random.default_rng(0).standard_normal(4000)
    expected = np.sin(2 * np.pi * t / 50) + 0.4 * np.sin(2 * np.pi * t / 17) + 0.003 * t + 0.05 * e
    np.testing.assert_allclose(drifting_vibration(np.random.default_rng(0)), expected, rtol=1e-12)


def test_the_load_comes_in_stretches_and_the_noise_follows_it():
    signal, load = loaded_machine(np.random.default_rng(0), 20_000)
    edges = np.flatnonzero(np.diff(load)) + 1
    assert set(load) == {0, 1} and np.diff(edges).min() >= 20 and np.diff(edges).max() <= 60
    noise = signal[2:] - 1.2 * signal[1:-1] + 0.5 * signal[:-2] - 2 * load[2:]
    assert noise[load[2:] == 0].std() == pytest.approx(0.3, rel=0.03) and noise[load[2:] == 1].std() == pytest.approx(1.0, rel=0.03)


def test_the_noisy_map_is_the_parabola_and_its_noise():
    x = noisy_parabola(np.random.default_rng(0))
    errors = x[1:] - parabola(x[:-1])
    assert errors.std() == pytest.approx(0.01, rel=0.05) and 0 <= x.min() and x.max() <= 1
    np.testing.assert_allclose(errors, 0.01 * np.random.default_rng(0).standard_normal(4000)[1:], atol=1e-12)
    assert np.log(np.abs(3.8 * (1 - 2 * x))).mean() == pytest.approx(0.43, abs=0.03)  # the Lyapunov exponent that is stated


@pytest.mark.parametrize("call, named", [(lambda: autoregression([], [0.5]), "drive"), (lambda: autoregression([1.0], []), "coefficients"),
                                         (lambda: autoregression([np.nan], [0.5]), "drive"), (lambda: drifting_vibration(np.random.default_rng(0), 0), "samples"),
                                         (lambda: loaded_machine(np.random.default_rng(0), -1), "samples"), (lambda: noisy_parabola(np.random.default_rng(0), 0), "samples"),
                                         (lambda: parabola([np.nan]), "x holds 1")])
def test_bad_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
