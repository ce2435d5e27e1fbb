"""What judges a monitor: counts by hand, SciPy, published run lengths, simulation; and faults put into a record."""

import math
from itertools import pairwise

import numpy as np
import pytest
import scipy.signal
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonlib.alarms import (
    chi_square_quantile,
    episodes,
    expected_per_day,
    gaussian_exceedance,
    judge,
    point_adjusted,
    precision,
    rate_interval,
    sample_f1,
)
from lessonlib.faults import KINDS, Fault, inject, spaced_starts
from lessonlib.monitoring import cusum, persistence
from lessonlib.pump import Autoregression, correlated, filtered, lagged, simulate
from lessonlib.run_lengths import cusum_run_length, limit_for_run_length, siegmund_run_length

settings.register_profile("book", deadline=None, derandomize=True, database=None, max_examples=60)
settings.load_profile("book")


def flags(text):
    return np.array([mark == "x" for mark in text])


# What chance gives --------------------------------------------------------------------------------------------

@given(st.floats(0, 9))
def test_exceedance_equals_scipy(k):
    assert gaussian_exceedance(k) == pytest.approx(2 * scipy.stats.norm.sf(k), rel=1e-12)


def test_false_alarms_a_day_of_the_three_sigma_test():
    assert expected_per_day(gaussian_exceedance(3)) == pytest.approx(233.26, abs=0.01)
    assert expected_per_day(gaussian_exceedance(4)) == pytest.approx(5.473, abs=0.001)
    assert expected_per_day(0.1, rate_hz=10, run=3) == pytest.approx(864_000 * 0.001)


def test_runs_are_counted_as_the_persistence_rule_counts_them():
    exceeds = np.random.default_rng(0).random(200_000) < 0.3
    assert persistence(exceeds, 3, 3).mean() == pytest.approx(0.3**3, rel=0.03)


@given(st.floats(1e-6, 1 - 1e-6), st.integers(1, 60))
def test_chi_square_quantile_equals_scipy(q, degrees):
    assert chi_square_quantile(q, degrees) == pytest.approx(scipy.stats.chi2.ppf(q, degrees), rel=1e-8)


@given(st.integers(0, 400), st.floats(0.1, 100))
def test_rate_interval_equals_scipy(counted, days):
    low, high = rate_interval(counted, days)
    assert low * days == pytest.approx(scipy.stats.chi2.ppf(0.025, 2 * counted) / 2 if counted else 0, rel=1e-7)
    assert high * days == pytest.approx(scipy.stats.chi2.ppf(0.975, 2 * counted + 2) / 2, rel=1e-7)


def test_rule_of_three():
    assert rate_interval(0, 1, confidence=0.9)[1] == pytest.approx(-math.log(0.05))


def test_precision_by_the_base_rate():
    assert precision(5.5, 1 / 30) == pytest.approx(1 / 166)
    assert precision(0, 0.1) == 1 and precision(2, 0) == 0
    assert precision(1, 1, detected=0.5) == pytest.approx(1 / 3)


# Run lengths --------------------------------------------------------------------------------------------------

# Two-sided, reference 0.5, limit 4, without a head start: Lucas and Crosier (1982), table 1.
LUCAS = {0: 168, 0.25: 74.2, 0.5: 26.6, 0.75: 13.3, 1: 8.38, 1.5: 4.75, 2: 3.34, 2.5: 2.62, 3: 2.19, 4: 1.71, 5: 1.31}
# One-sided, reference 0, limit 10: Vance (1986), table 1.
VANCE = {-0.25: 2071.51, -0.125: 400.28, 0: 124.66, 0.125: 59.30, 0.25: 36.71, 0.5: 20.37, 0.75: 14.06, 1: 10.75}


@pytest.mark.parametrize("shift, run_length", LUCAS.items())
def test_run_lengths_on_both_sides_equal_those_of_lucas_and_crosier(shift, run_length):
    up, down = (cusum_run_length(sign * shift, 0.5, 4) for sign in (1, -1))
    assert 1 / (1 / up + 1 / down) == pytest.approx(run_length, rel=3e-3)


@pytest.mark.parametrize("shift, run_length", VANCE.items())
def test_run_lengths_equal_those_of_vance(shift, run_length):
    assert cusum_run_length(shift, 0, 10) == pytest.approx(run_length, abs=0.006, rel=5e-5)


def test_run_lengths_equal_those_of_brook_and_evans_and_of_a_statistics_package():
    assert cusum_run_length(0, 0.5, 3) == pytest.approx(117.59, abs=0.01)             # Brook and Evans (1972), section 4.3
    assert cusum_run_length(1.5, 0.5, 3) == pytest.approx(3.75, abs=0.006)
    assert cusum_run_length(2.5, 0.25, 8) == pytest.approx(4.1500836225, abs=1e-6)     # manual of SAS/QC, 1999


def test_run_length_of_a_single_sample_test():
    """With a limit near zero, and a reference k, every sample above k alarms: a geometric run length."""
    assert cusum_run_length(0, 2, 1e-9) == pytest.approx(1 / scipy.stats.norm.sf(2), rel=1e-6)


def test_run_length_by_simulation():
    x = np.random.default_rng(1).standard_normal(400_000)
    alarms = np.flatnonzero(cusum(x, 0.5, 4).alarms)
    lengths = np.diff(alarms)                                # every alarm is a fresh start
    assert lengths.mean() == pytest.approx(cusum_run_length(0, 0.5, 4), abs=4 * lengths.std() / math.sqrt(len(lengths)))
    shifted = np.diff(np.flatnonzero(cusum(x[:100_000] + 1, 0.5, 4).alarms))
    assert shifted.mean() == pytest.approx(cusum_run_length(1, 0.5, 4), abs=4 * shifted.std() / math.sqrt(len(shifted)))


@pytest.mark.parametrize("shift, limit", [(0, 4), (0, 8), (0.5, 5), (1, 5), (2, 5)])
def test_the_formula_is_close_to_the_integral_equation(shift, limit):
    assert siegmund_run_length(shift, 0.5, limit) == pytest.approx(cusum_run_length(shift, 0.5, limit), rel=0.05)


@pytest.mark.parametrize("run_length", [10, 465.4 * 2, 86_400])
def test_limit_for_a_run_length_gives_it_back(run_length):
    assert cusum_run_length(0, 0.5, limit_for_run_length(run_length, 0.5)) == pytest.approx(run_length, rel=1e-6)


# Judging ------------------------------------------------------------------------------------------------------

def test_episodes_join_over_short_gaps():
    assert episodes(flags("..xx.x...x")).tolist() == [[2, 4], [5, 6], [9, 10]]
    assert episodes(flags("..xx.x...x"), gap=1).tolist() == [[2, 6], [9, 10]]
    assert episodes(flags("..xx.x...x"), gap=3).tolist() == [[2, 10]]
    assert episodes(flags("....")).shape == (0, 2)


def test_the_four_numbers_of_a_record_counted_by_hand():
    #               event [4, 8)      grace 2, settle 4      event [20, 22)
    alarms = flags("x....xx.xx.x......x.....x.")
    found = judge(alarms, [(20, 22), (4, 8)], grace=2, settle=4)
    assert found.delays == [1, None] and found.alarm_samples == [4, 0] and found.detected == 1
    assert found.normal_samples == 26 - 8 - 6 and found.false_samples == 2 and found.false_episodes == 2
    assert found.false_per_day(rate_hz=0.5) == pytest.approx(2 / 12 * 43_200)
    assert found.precision(86_400) == pytest.approx(0.5 / (0.5 + 2 / 12))


def test_an_alarm_belongs_to_the_latest_event_that_has_begun():
    found = judge(flags("..x..x"), [(0, 2), (4, 5)], grace=10)
    assert found.delays == [2, 1] and found.alarm_samples == [1, 1] and found.normal_samples == 0


@given(st.lists(st.booleans(), min_size=30, max_size=30), st.integers(0, 4), st.integers(0, 4))
def test_judging_equals_a_loop_over_samples(marks, grace, settle):
    alarms, events = np.array(marks), [(5, 8), (17, 18)]
    found = judge(alarms, events, grace=grace, settle=settle)
    normal = [not any(start <= t < stop + max(grace, settle) for start, stop in events) for t in range(30)]
    assert found.normal_samples == sum(normal)
    assert found.false_samples == sum(a and n for a, n in zip(marks, normal, strict=True))
    assert found.false_episodes == sum(marks[t] and normal[t] and not (t and marks[t - 1]) for t in range(30))
    for (start, stop), delay, counted in zip(events, found.delays, found.alarm_samples, strict=True):
        inside = [t - start for t in range(start, min(stop + grace, 30)) if marks[t]]
        assert counted == len(inside) and delay == (inside[0] if inside else None)


def test_point_adjustment_fills_events_that_were_touched_and_lifts_the_score():
    alarms, events = flags("x...x....."), [(3, 8)]
    assert "".join("x" if on else "." for on in point_adjusted(alarms, events)) == "x..xxxxx.."
    assert sample_f1(alarms, events) == pytest.approx(2 * 1 / (2 + 5))
    assert sample_f1(point_adjusted(alarms, events), events) == pytest.approx(2 * 5 / (6 + 5))
    assert sample_f1(flags("...."), [(0, 1)]) == 0


# Faults -------------------------------------------------------------------------------------------------------

RECORD = np.arange(20.0)


@pytest.mark.parametrize("kind, size, expected", [
    ("spike", 10, [15, 16, 17, 18]), ("offset", -5, [0, 1, 2, 3]), ("drift", 8, [7, 10, 13, 16]), ("gain", 1, [6, 8, 10, 12]),
    ("stuck", 0, [4] * 4), ("replay", 3, [2, 3, 4, 5]), ("noise", 0, [5, 6, 7, 8])])
def test_a_fault_changes_its_own_samples_and_no_others(kind, size, expected):
    found = inject(RECORD, [Fault(kind, 5, 9, size)], rng=np.random.default_rng(0))
    assert found[5:9].tolist() == expected
    assert np.delete(found, range(5, 9)).tolist() == np.delete(RECORD, range(5, 9)).tolist()
    wide = inject(np.stack([RECORD, RECORD], axis=1), [Fault(kind, 5, 9, size, 1)], rng=np.random.default_rng(0))
    assert (wide[:, 0] == RECORD).all() and (wide[:, 1] == found).all()


def test_noise_has_its_deviation_and_needs_a_generator():
    found = inject(np.zeros(20_000), [Fault("noise", 0, 20_000, 3.0)], rng=np.random.default_rng(0))
    assert found.std() == pytest.approx(3, rel=0.03)
    with pytest.raises(ValueError, match="rng"):
        inject(RECORD, [Fault("noise", 0, 5, 1.0)])


def test_faults_add_up_in_order_and_no_fault_copies():
    both = inject(RECORD, [Fault("offset", 3, 6, 1.0), Fault("stuck", 5, 8)])
    assert both[3:8].tolist() == [4, 5, 5, 5, 5]
    copy = inject(RECORD, [])
    assert (copy == RECORD).all() and copy is not RECORD


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 7), st.integers(0, 9))
def test_starts_keep_their_distance(length, n, apart, first):
    starts = spaced_starts(200, length, n, np.random.default_rng(0), first=first, apart=apart)
    assert len(starts) == n and starts[0] >= first and starts[-1] + length <= 200
    assert all(b - a >= length + apart for a, b in pairwise(starts))


# The machine --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("factor", [0.0, 0.5, -0.7, 0.999, 0.9j])
def test_the_filter_equals_scipy(factor):
    x = np.random.default_rng(0).standard_normal((3000, 2))
    np.testing.assert_allclose(filtered(x, factor), scipy.signal.lfilter([1], [1, -factor], x, axis=0), atol=1e-9)


def test_correlated_noise_keeps_its_variance_and_forgets_at_its_rate():
    y = correlated(np.random.default_rng(0).standard_normal(400_000), 0.8)
    assert y.var() == pytest.approx(1, abs=0.02)
    assert [(y[:-lag] * y[lag:]).mean() for lag in (1, 5)] == pytest.approx([0.8, 0.8**5], abs=0.02)


def test_the_pump_repeats_with_its_seed_and_goes_on_like_one_without_a_fault_up_to_its_onset():
    normal = simulate(600, 2, np.random.default_rng(3))
    excitation = np.where(np.arange(600) < 400, 1.0, 2.0)
    cavitating = simulate(600, 2, np.random.default_rng(3), excitation=excitation)
    softened = simulate(600, 2, np.random.default_rng(3), period=np.where(np.arange(600) < 400, 9.0, 13.0))
    assert normal.shape == (600, 2, 3) and np.isfinite(normal).all()
    for changed in (cavitating, softened):
        np.testing.assert_allclose(changed[:400], normal[:400], atol=1e-9)
        assert abs(changed[400:, :, 0] - normal[400:, :, 0]).max() > 0.05


def test_the_period_of_the_water_column_is_where_the_spectrum_peaks():
    for period in (6.0, 12.0):
        pressure = simulate(20_000, 1, np.random.default_rng(0), period=period)[:, 0, 0]
        frequency, power = scipy.signal.welch(np.diff(pressure), nperseg=512)
        assert 1 / frequency[power.argmax()] == pytest.approx(period, rel=0.12)


def test_autoregression_finds_the_weights_of_a_process_and_leaves_its_noise():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(20_000)
    x = scipy.signal.lfilter([1], [1, -1.2, 0.6], noise) + 5
    model = Autoregression(x, 2)
    assert model.weights[:2] == pytest.approx([1.2, -0.6], abs=0.03)
    np.testing.assert_allclose(model.residuals(x), noise[2:], atol=0.1)
    design = lagged(np.arange(6.0), 2)
    assert design.tolist() == [[1, 0, 1], [2, 1, 1], [3, 2, 1], [4, 3, 1]]


# Bad input ----------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
BAD = [
    (lambda: gaussian_exceedance(-1), "k"), (lambda: expected_per_day(1.5), "probability"), (lambda: expected_per_day(0.1, rate_hz=0), "rate_hz"),
    (lambda: expected_per_day(0.1, run=0), "run"), (lambda: precision(-1, 1), "false_per_day"), (lambda: precision(0, 0), "give one above 0"),
    (lambda: precision(1, 1, detected=2), "detected"), (lambda: chi_square_quantile(1, 3), "q is 1"), (lambda: chi_square_quantile(0.5, 0), "degrees"),
    (lambda: rate_interval(-1, 1), "counted"), (lambda: rate_interval(1, 0), "days"),
    (lambda: episodes([]), "alarms"), (lambda: episodes([0.0, 1.0]), "truth values"), (lambda: episodes(flags("x"), gap=-1), "gap"),
    (lambda: judge(flags("x."), [(0, 3)]), "events"), (lambda: judge(flags("x.x"), [(0, 2), (1, 3)]), "overlap"),
    (lambda: judge(flags("x."), [(1, 1)]), "events"), (lambda: judge(flags("x."), [], grace=-1), "grace"),
    (lambda: judge(flags("xx"), [(0, 2)]).false_per_day(), "longer record"), (lambda: judge(flags("xx"), []).precision(1), "faults in it"),
    (lambda: sample_f1(flags("x"), []), "events"),
    (lambda: cusum_run_length(math.nan, 0.5, 4), "shift"), (lambda: cusum_run_length(0, 0.5, 0), "limit"),
    (lambda: siegmund_run_length(0, math.inf, 4), "reference"), (lambda: limit_for_run_length(1, 0.5), "run_length"),
    (lambda: inject([], []), "record"), (lambda: inject([1, math.nan], []), "record"), (lambda: inject(RECORD, [("bias", 0, 1)]), "kind"),
    (lambda: inject(RECORD, [Fault("offset", 5, 5, 1)]), "start"), (lambda: inject(RECORD, [Fault("offset", 5, 21, 1)]), "stop"),
    (lambda: inject(RECORD, [Fault("stuck", 0, 5)]), "1 <= start"), (lambda: inject(RECORD, [Fault("replay", 3, 5, 4)]), "4 <= start"),
    (lambda: inject(RECORD, [Fault("replay", 5, 9, 1.5)]), "size"), (lambda: inject(RECORD, [Fault("offset", 1, 2, math.nan)]), "size"),
    (lambda: inject(RECORD, [Fault("noise", 1, 2, -1)], rng=RNG), "size"), (lambda: inject(RECORD, [Fault("offset", 1, 2, 1, 1)]), "channel"),
    (lambda: spaced_starts(10, 3, 4, RNG), "fewer or shorter"), (lambda: spaced_starts(10, 3, 1, RNG, apart=-1), "apart"),
    (lambda: filtered([1.0], 1), "factor"), (lambda: filtered([], 0.5), "values"), (lambda: correlated([math.nan], 0.5), "values"),
    (lambda: simulate(0, 1, RNG), "samples"), (lambda: simulate(9, 1, RNG, period=2), "period"), (lambda: simulate(9, 1, RNG, burn_in=-1), "burn_in"),
    (lambda: simulate(9, 1, RNG, excitation=[1.0, 2.0]), "excitation"),
    (lambda: lagged([1.0, 2], 2), "window"), (lambda: Autoregression(np.arange(10.0), 5), "longer record"),
]


@pytest.mark.parametrize("call, said", BAD, ids=range(len(BAD)))
def test_bad_input_names_the_argument_and_the_remedy(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_every_kind_of_fault_is_tested():
    assert set(KINDS) == {"spike", "offset", "drift", "gain", "stuck", "replay", "noise"}
