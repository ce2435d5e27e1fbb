"""Detectors, thresholds and distances against brute force and SciPy; bad input names the argument and the remedy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view
from scipy.spatial import distance

from lessonlib.monitoring import beyond, cusum, kth_largest, persistence, point_test, residuals, rolling_mean, rolling_rms, rolling_std
from lessonlib.residual_vectors import fit_normal, mahalanobis
from lessonlib.thresholds import block_extremes, held_out_threshold, margin_threshold

settings.register_profile("book", deadline=None, derandomize=True, database=None, max_examples=60)
settings.load_profile("book")

LENGTHS = st.tuples(st.integers(1, 40), st.integers(1, 40)).map(lambda pair: (max(pair), min(pair)))


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def page_by_hand(values, reference, limit):
    """Page's scheme as it is written down: one sample after the other."""
    level, statistic, alarms = 0.0, [], []
    for value in values:
        level = max(0.0, level + value - reference)
        statistic.append(level)
        alarms.append(level > limit)
        if level > limit:
            level = 0.0
    return statistic, alarms


# Rolling windows ----------------------------------------------------------------------------------------------

@given(LENGTHS, st.booleans(), st.floats(-1e3, 1e3))
def test_rolling_scores_equal_a_loop_over_windows_and_belong_to_their_last_sample(lengths, columns, level):
    samples, window = lengths
    x = level + draw(samples, *[3] * columns)
    windows = sliding_window_view(x, window, axis=0)
    for score, loop in ((rolling_mean, windows.mean(-1)), (rolling_std, windows.std(-1)), (rolling_rms, np.sqrt((windows**2).mean(-1)))):
        found = score(x, window)
        assert found.shape == x.shape and np.isnan(found[:window - 1]).all()
        np.testing.assert_allclose(found[window - 1:], loop, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("before", [0.0, 1e9])
def test_a_frozen_sensor_has_a_deviation_of_exactly_zero_whatever_came_before(before):
    x = np.r_[before + draw(100), np.full(60, 7.3)]
    spread = rolling_std(x, 20)
    assert (spread[119:] == 0).all() and (spread[19:100] > 0.1).all()


def test_a_small_spread_survives_a_large_level():
    x = draw(500)
    np.testing.assert_allclose(rolling_std(1e8 + x, 50)[49:], rolling_std(x, 50)[49:], rtol=1e-6)


@given(st.integers(1, 60), st.integers(1, 20))
def test_the_score_of_a_sample_does_not_see_the_future(known, window):
    x = draw(80)
    changed = np.r_[x[:known], 100 + draw(80 - known, seed=1)]
    for score in (rolling_mean, rolling_rms, rolling_std):
        np.testing.assert_array_equal(score(x, window)[:known], score(changed, window)[:known])
    np.testing.assert_array_equal(cusum(x, 0.2, 2).statistic[:known], cusum(changed, 0.2, 2).statistic[:known])


# Tests of a sample, CUSUM, persistence ------------------------------------------------------------------------

def test_residuals_and_the_point_test_work_on_both_sides_and_strictly():
    assert residuals([1.0, 2, 3], [1.5, 2, 1]).tolist() == [-0.5, 0, 2]
    assert point_test([-2.1, -2.0, 0, 2.0, 2.1], 2).tolist() == [True, False, False, False, True]


def test_beyond_takes_either_side_and_never_alarms_before_the_first_full_window():
    assert beyond([math.nan, 1, 2, 3], 2).tolist() == [False, False, False, True]
    assert beyond([math.nan, 1, 2, 3], 2, side="below").tolist() == [False, True, False, False]


@given(st.integers(1, 900), st.floats(-0.5, 1), st.floats(0.1, 6), st.integers(0, 5))
def test_cusum_equals_the_loop(samples, reference, limit, seed):
    x = draw(samples, seed=seed)
    statistic, alarms = page_by_hand(x, reference, limit)
    found = cusum(x, reference, limit)
    np.testing.assert_allclose(found.statistic, statistic, atol=1e-9)
    assert found.alarms.tolist() == alarms


def test_cusum_treats_columns_as_series_of_their_own():
    x = draw(300, 4)
    both = cusum(x, 0.1, 3)
    for i in range(4):
        alone = cusum(x[:, i], 0.1, 3)
        assert (both.alarms[:, i] == alone.alarms).all() and (both.statistic[:, i] == alone.statistic).all()
    assert both.alarms.any()


def test_cusum_starts_from_zero_after_an_alarm_so_that_one_short_change_gives_one_alarm():
    x = np.zeros(60)
    x[20:26] = 2
    found = cusum(x, 0.5, 6)
    assert np.flatnonzero(found.alarms).tolist() == [24]   # 1.5 a sample passes 6 with the fifth
    assert found.statistic[24] == 7.5 and found.statistic[25] == 1.5 and found.statistic[60 - 1] == 0


@pytest.mark.parametrize("shift, limit, latest", [(0.5, 22, 200), (1.0, 13, 60)])
def test_cusum_is_quiet_on_target_and_finds_a_shift(shift, limit, latest):
    x = draw(100_000)
    assert not cusum(x, shift / 2, limit).alarms.any()     # mean run lengths of about a million and three million samples
    x[50_000:] += shift
    alarms = np.flatnonzero(cusum(x, shift / 2, limit).alarms)
    assert 50_000 <= alarms[0] < 50_000 + latest
    assert not cusum(x, shift / 2).alarms.any()            # an infinite limit gives the statistic alone


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(1, 6), st.integers(0, 6))
def test_persistence_counts_the_last_n_samples(flags, k, more):
    n = k + more
    assert persistence(np.array(flags), k, n).tolist() == [sum(flags[max(0, t - n + 1):t + 1]) >= k for t in range(len(flags))]


def test_persistence_of_one_in_one_changes_nothing_and_columns_are_separate():
    flags = draw(50, 3) > 0.5
    assert (persistence(flags, 1, 1) == flags).all()
    assert (persistence(flags, 2, 3) == np.stack([persistence(column, 2, 3) for column in flags.T], axis=1)).all()


@given(st.integers(1, 5), st.integers(0, 4), st.booleans())
def test_a_threshold_on_the_kth_largest_is_the_persistence_rule(k, more, columns):
    n, score = k + more, draw(60, *[2] * columns)
    assert (beyond(kth_largest(score, k, n), 0.3)[n - 1:] == persistence(score > 0.3, k, n)[n - 1:]).all()


# Thresholds ---------------------------------------------------------------------------------------------------

@given(st.integers(20, 300), st.floats(0.05, 0.9), st.sampled_from(["above", "below"]))
def test_exactly_the_allowed_share_of_the_held_out_scores_lies_beyond(samples, rate, side):
    score = draw(samples)
    threshold = held_out_threshold(score, rate, side=side)
    assert beyond(score, threshold, side=side).sum() == int(rate * samples * (1 + 1e-12))
    assert threshold in score


def test_a_long_record_gives_the_quantile():
    assert held_out_threshold(draw(400_000), 0.01) == pytest.approx(2.326, abs=0.02)


def test_a_threshold_skips_the_samples_before_the_first_window():
    score = rolling_rms(draw(200), 11)
    assert held_out_threshold(score, 0.1) == held_out_threshold(score[10:], 0.1)


@pytest.mark.parametrize("side, best", [("above", max), ("below", min)])
def test_block_extremes_and_a_threshold_on_them(side, best):
    score = draw(1000)
    extremes = block_extremes(score, 50, side=side)
    assert extremes.tolist() == [best(score[i:i + 50]) for i in range(0, 1000, 50)]
    threshold = held_out_threshold(extremes, 0.25, side=side)
    assert beyond(score, threshold, side=side).reshape(20, 50).any(axis=1).sum() == 5
    columns = block_extremes(np.stack([score, score + 1], axis=1), 50, side=side)
    assert (columns[:, 0] == extremes).all() and (columns[:, 1] == extremes + 1).all()


def test_a_block_without_a_full_window_has_no_extreme():
    extremes = block_extremes(rolling_std(draw(100), 31), 20)
    assert np.isnan(extremes).tolist() == [True, False, False, False, False]


def test_margins():
    assert margin_threshold([math.nan, 1.0, 4.0], 1.1) == pytest.approx(4.4)
    assert margin_threshold([math.nan, 1.0, 4.0], 0.5, side="below") == 0.5


# Many channels ------------------------------------------------------------------------------------------------

def test_squared_distance_equals_scipy():
    r = draw(200, 3) @ np.array([[1, 0, 0], [0.9, 0.1, 0], [0, 5, 200.0]])
    mean, covariance = fit_normal(r)
    np.testing.assert_allclose(mean, r.mean(0))
    np.testing.assert_allclose(covariance, np.cov(r.T))
    expected = [distance.mahalanobis(row, mean, np.linalg.inv(covariance))**2 for row in r]
    np.testing.assert_allclose(mahalanobis(r, mean, covariance), expected, rtol=1e-8)


def test_the_distance_does_not_depend_on_the_units_of_the_channels():
    r = draw(100, 3)
    units = np.array([1e-7, 1.0, 1e6])
    np.testing.assert_allclose(mahalanobis(r * units, *fit_normal(r * units)), mahalanobis(r, *fit_normal(r)), rtol=1e-6)


def test_two_channels_that_disagree_against_two_that_agree():
    np.testing.assert_allclose(mahalanobis([[1.5, -1.5], [1.5, 1.5]], [0, 0], [[1, 0.95], [0.95, 1]]), [90, 4.5 / 1.95], rtol=1e-12)
    assert fit_normal(draw(10, 1))[1].shape == (1, 1)


# Bad input ----------------------------------------------------------------------------------------------------

NAN = [1.0, math.nan, 2.0]
R2 = [[1.0, 2.0], [2.0, 1.0], [0.0, 4.0]]
BAD = [
    (lambda: residuals([], []), "values"), (lambda: residuals(NAN, [1, 2, 3]), "values"), (lambda: residuals([1, 2], [1]), "predictions"),
    (lambda: residuals([[[1.0]]], [[[1.0]]]), "samples, columns"),
    (lambda: rolling_rms([1.0, 2], 3), "window.*longer record"), (lambda: rolling_std(NAN, 2), "NaN"), (lambda: rolling_mean([1.0], 0), "window"),
    (lambda: rolling_rms([], 1), "values"), (lambda: point_test([1.0], 0), "threshold"), (lambda: point_test(NAN, 1), "residual"),
    (lambda: beyond([1.0, math.nan], 1), "score.*repair gaps"), (lambda: beyond([math.nan], 1), "score"), (lambda: beyond([math.inf], 1), "score"),
    (lambda: beyond([[1.0, math.nan]], 1), "score"), (lambda: beyond([1.0], math.nan), "threshold"), (lambda: beyond([1.0], 1, side="left"), "side"),
    (lambda: cusum(NAN, 0, 1), "values"), (lambda: cusum([1.0], math.nan, 1), "reference"), (lambda: cusum([1.0], 0, 0), "limit"),
    (lambda: cusum([1.0], 0, math.nan), "limit"),
    (lambda: persistence(np.array([True]), 3, 2), "k is 3 and n 2.*lower k"), (lambda: persistence(np.array([0.5]), 1, 1), "exceeds"),
    (lambda: persistence(np.array([], dtype=bool), 1, 1), "exceeds"), (lambda: persistence(np.array([True]), 0, 2), "k"),
    (lambda: kth_largest([1.0, 2], 1, 3), "n 3"), (lambda: kth_largest(NAN, 1, 1), "score"), (lambda: kth_largest([1.0, 2], 2, 1), "k is 2"),
    (lambda: held_out_threshold(draw(10), 0.01), "rate.*longer record"), (lambda: held_out_threshold([1.0], 1.5), "rate"),
    (lambda: held_out_threshold([], 0.5), "score"), (lambda: block_extremes([1.0, 2], 3), "block.*shorter block"),
    (lambda: block_extremes(draw(9), 0), "block"), (lambda: margin_threshold([1.0], 0.5), "factor"),
    (lambda: margin_threshold([1.0], 1.5, side="below"), "factor"), (lambda: margin_threshold([1.0], math.inf), "factor"),
    (lambda: fit_normal([1.0, 2, 3]), "residual"), (lambda: fit_normal(np.eye(2)), "more samples than channels"),
    (lambda: mahalanobis(R2, [0, 0], [[1, 1], [1, 1]]), "singular.*leave out a channel"),
    (lambda: mahalanobis(R2, [0, 0], [[1, 0], [0, 0]]), "singular"), (lambda: mahalanobis(R2, [0, 0], [[1, 0.5], [0.1, 1]]), "not symmetric"),
    (lambda: mahalanobis(R2, [0, 0, 0], np.eye(3)), "same m channels"), (lambda: mahalanobis([1.0, 2], [0], [[1]]), "same m channels"),
    (lambda: mahalanobis([[1.0, math.nan]], [0, 0], np.eye(2)), "residual"), (lambda: mahalanobis(R2, [0, math.nan], np.eye(2)), "mean"),
]


@pytest.mark.parametrize("call, said", BAD, ids=range(len(BAD)))
def test_bad_input_names_the_argument_and_the_remedy(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_input_is_left_as_it_was():
    x, kept = draw(50, 2), draw(50, 2)
    for call in (lambda: rolling_std(x, 7), lambda: cusum(x, 0.5, 1), lambda: beyond(x, 0), lambda: block_extremes(x, 5),
                 lambda: held_out_threshold(x, 0.1), lambda: mahalanobis(x, *fit_normal(x)), lambda: persistence(x > 0, 2, 3)):
        call()
        assert (x == kept).all()
