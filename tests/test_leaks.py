"""The experiments of the four leaks: what is closed is closed, service sees nothing later, and the leak is what helps."""

import numpy as np
import pytest

from lessonlib import leaks
from lessonlib.baselines import naive
from lessonlib.drawings_forecast import draw_folds, draw_window
from lessonlib.windows import make_windows, walk_forward


def test_the_naive_forecast_has_a_ratio_of_one():
    windows = make_windows(np.random.default_rng(0).standard_normal(100).cumsum(), 5, 3)
    assert leaks.ratio(windows, naive(windows.inputs[..., 0], 3)) == 1
    last = leaks.last_step(windows)
    np.testing.assert_array_equal(last.targets[:, 0], windows.targets[:, 2])
    assert last.first[0] == 7 and last.between(7, 8).first.tolist() == [7]


def test_neighbours_remember_their_own_window():
    windows = make_windows(np.random.default_rng(0).standard_normal(60).cumsum(), 5)
    np.testing.assert_array_equal(leaks.neighbours(windows, windows, k=1), windows.targets)
    by_hand = leaks.neighbours(windows.rows(slice(0, 40)), windows.rows(slice(50, 51)))
    distances = ((windows.inputs[:40, :, 0] - windows.inputs[50, :, 0]) ** 2).sum(1)
    assert by_hand.item() == pytest.approx(windows.targets[np.argsort(distances)[:2]].mean())


def test_running_scale_is_causal_and_right():
    walks = np.random.default_rng(0).standard_normal((3, 50)).cumsum(1)
    mean, sd = leaks.running_scale(walks)
    np.testing.assert_allclose(mean[:, 30], walks[:, :31].mean(1))
    np.testing.assert_allclose(sd[:, 30], walks[:, :31].std(1), rtol=1e-9)
    walks[:, 31:] += 99
    np.testing.assert_array_equal(leaks.running_scale(walks)[0][:, :31], mean[:, :31])
    np.testing.assert_allclose(leaks.whole_scale(walks)[1][:, 3], walks.std(1))


@pytest.mark.parametrize("scale", [leaks.running_scale, leaks.whole_scale])
def test_scaled_examples_hold_what_they_say(scale):
    walks = np.random.default_rng(0).standard_normal((2, 200)).cumsum(1)
    inputs, targets, mean, sd = leaks.scaled_examples(walks, scale, 16, 50)
    per_run = len(inputs) // 2
    for row, run, end in ((0, 0, 100), (1, 0, 105), (per_run, 1, 100)):
        np.testing.assert_allclose(inputs[row] * sd[row] + mean[row], walks[run, end - 15:end + 1])
        np.testing.assert_allclose(targets[row] * sd[row] + mean[row], walks[run, end + 50])


def test_outages_are_stretches_and_spare_the_start():
    lost = leaks.outages(np.random.default_rng(0), 5000)
    assert not lost[:20].any() and 0.3 < lost.mean() < 0.5
    runs = np.diff(np.flatnonzero(np.diff(np.concatenate([[0], lost, [0]]))))[::2]
    assert runs.max() == 5 and runs.min() == 1


@pytest.mark.parametrize("name", leaks.LEAKS)
def test_only_the_leak_beats_what_can_be_known(name):
    scores = leaks.three_scores(leaks.LEAKS[name], range(8))
    leaking, closed, service = np.median(scores, axis=0)
    assert scores.shape == (8, 3) and leaking < 0.985 < 0.99 < min(closed, service)
    np.testing.assert_array_equal(scores[3], leaks.LEAKS[name](np.random.default_rng(3)))


def test_without_gaps_there_is_nothing_to_leak(monkeypatch):
    monkeypatch.setattr(leaks, "outages", lambda generator, samples: np.zeros(samples, dtype=bool))
    leaking, closed, service = leaks.filled_gaps(np.random.default_rng(0))
    assert leaking == pytest.approx(closed) == pytest.approx(service)


def test_no_seeds_raise():
    with pytest.raises(ValueError, match="seeds is empty"):
        leaks.three_scores(leaks.filled_gaps, range(0))


def test_drawings_are_made_and_refuse_what_does_not_fit():
    draw_window(6, 3, 12)
    folds = walk_forward(100, first_origin=40, block=15, gap=5)
    draw_folds(folds, 100)
    for call, named in ((lambda: draw_window(9, 3, 12), "horizon"), (lambda: draw_window(6, 3, 4), "samples"), (lambda: draw_folds([], 100), "folds"),
                        (lambda: draw_folds(folds, 80), "folds")):
        with pytest.raises(ValueError, match=named):
            call()
