"""Windows hold what they should, nothing later; folds never let training see a test target."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonlib.windows import make_windows, walk_forward


def test_a_small_series_by_hand():
    made = make_windows([10, 11, 12, 13, 14, 15], window=3, horizon=2)
    assert made.inputs[..., 0].tolist() == [[10, 11, 12], [11, 12, 13]]
    assert made.targets.tolist() == [[13, 14], [14, 15]]
    assert made.first.tolist() == [3, 4] and made.future.shape == (2, 2, 0) and len(made) == 2 and made.horizon == 2


def test_channels_and_known_inputs_by_hand():
    series = np.stack([np.arange(6.0), 10 + np.arange(6.0)], axis=1)
    made = make_windows(series, 2, 2, target=1, known=100 + np.arange(6))
    assert made.inputs.shape == (3, 2, 3)
    assert made.inputs[0].tolist() == [[0, 10, 101], [1, 11, 102]]    # the plan stands one step ahead
    assert made.targets[0].tolist() == [12, 13]
    assert made.future[0, :, 0].tolist() == [102, 103]
    both = make_windows(series, 2, 2, target=[1, 0])
    assert both.targets.shape == (3, 2, 2) and both.targets[0].tolist() == [[12, 2], [13, 3]]


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), st.integers(0, 2), st.integers(0, 8))
def test_every_window_is_the_slice_that_it_says(window, horizon, channels, known, extra):
    samples = window + horizon + extra
    series = np.arange(samples * channels, dtype=float).reshape(samples, channels)
    plan = -1 - np.arange(samples * known, dtype=float).reshape(samples, known) if known else None
    made = make_windows(series, window, horizon, known=plan)
    assert len(made) == extra + 1
    for i, t in enumerate(made.first):
        np.testing.assert_array_equal(made.inputs[i, :, :channels], series[t - window:t])
        np.testing.assert_array_equal(made.targets[i], series[t:t + horizon, 0])
        if known:
            np.testing.assert_array_equal(made.inputs[i, :, channels:], plan[t - window + 1:t + 1])
            np.testing.assert_array_equal(made.future[i], plan[t:t + horizon])


def test_a_later_measurement_changes_no_input():
    series = np.random.default_rng(0).standard_normal((40, 2))
    before = make_windows(series, 5, 3)
    series[20:] += 100
    after = make_windows(series, 5, 3)
    same = (before.inputs == after.inputs).all(axis=(1, 2))
    np.testing.assert_array_equal(same, before.first <= 20)


@pytest.mark.parametrize("options, named", [
    (dict(series=[], window=1), "series"), (dict(series=[1, np.nan, 3], window=1), "series"), (dict(series=np.zeros((2, 2, 2)), window=1), "series"),
    (dict(series=np.arange(5), window=5), "series has 5 samples; window=5 and horizon=1 need at least 6"),
    (dict(series=np.arange(5), window=1, horizon=9), "horizon=9"), (dict(series=np.arange(5), window=0), "window is 0"),
    (dict(series=np.arange(5), window=2, horizon=0), "horizon is 0"), (dict(series=np.arange(5), window=2.0), "window"),
    (dict(series=np.arange(5), window=1, target=1), "target is 1; series has channels 0 to 0"), (dict(series=np.arange(5), window=1, target=[]), "target"),
    (dict(series=np.arange(5), window=1, target=-1), "target"),
    (dict(series=np.arange(5), window=1, known=np.arange(4)), "known has 4 samples and series 5"),
    (dict(series=np.arange(5), window=1, known=[1, 2, np.nan, 4, 5]), "known holds 1"),
])
def test_bad_input_is_named(options, named):
    with pytest.raises(ValueError, match=named):
        make_windows(**options)


def test_tensors_keep_shape_and_type():
    x, y = make_windows(np.arange(8.0), 3, 2).tensors()
    assert x.shape == (4, 3, 1) and y.shape == (4, 2) and x.dtype == torch.float32
    assert make_windows(np.arange(8.0), 3).tensors(torch.float64)[0].dtype == torch.float64


def test_between_keeps_targets_and_on_request_inputs_inside():
    made = make_windows(np.arange(20.0), 4, 2)
    assert made.between(10, 15).first.tolist() == [10, 11, 12, 13]
    assert made.between(10, 17, inputs_too=True).first.tolist() == [14, 15]
    assert made.rows(slice(2, 4)).first.tolist() == [6, 7]
    with pytest.raises(ValueError, match="no window of 4 samples and 2 targets"):
        made.between(10, 11)
    with pytest.raises(ValueError, match="index"):
        made.rows(made.first > 99)
    with pytest.raises(ValueError, match="index"):
        made.rows(3)


@settings(deadline=None, max_examples=80)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 6), st.integers(8, 15), st.integers(5, 9), st.one_of(st.none(), st.integers(10, 15)))
def test_no_training_window_touches_a_test_target(window, horizon, gap, first_origin, block, longest):
    samples = 60
    made = make_windows(np.arange(samples, dtype=float), window, horizon)
    for number, fold in enumerate(walk_forward(samples, first_origin=first_origin, block=block, gap=gap, longest=longest)):
        if longest is not None and longest < window + horizon:
            continue
        train, test = fold.split(made) if first_origin >= window + horizon else (None, None)
        if train is None:
            continue
        assert train.targets.max() < first_origin + number * block == fold.train.stop
        assert test.targets.min() == fold.test.start >= fold.train.stop + gap
        assert test.targets.max() == fold.test.stop - 1 < samples
        assert fold.test.stop - fold.test.start == block
        assert longest is None or fold.train.stop - fold.train.start <= longest
        assert train.inputs.min() == fold.train.start


def test_the_folds_of_a_hand_example():
    folds = walk_forward(100, first_origin=40, block=20, gap=5)
    assert [(f.train, f.test) for f in folds] == [(slice(0, 40), slice(45, 65)), (slice(0, 60), slice(65, 85))]
    assert [f.train for f in walk_forward(100, first_origin=40, block=20, folds=2, longest=30)] == [slice(10, 40), slice(30, 60)]


def test_windows_of_test_can_be_kept_from_reaching_back():
    made = make_windows(np.arange(60.0), 4)
    fold = walk_forward(60, first_origin=30, block=20)[0]
    assert fold.split(made)[1].inputs.min() == 26
    assert fold.split(made, inputs_too=True)[1].inputs.min() == 30


@pytest.mark.parametrize("options, named", [
    (dict(first_origin=90, block=20), "samples is 100"), (dict(first_origin=0, block=20), "first_origin"), (dict(first_origin=50, block=0), "block"),
    (dict(first_origin=50, block=20, gap=-1), "gap"), (dict(first_origin=50, block=20, folds=3), "folds is 3"),
    (dict(first_origin=50, block=20, folds=0), "folds"), (dict(first_origin=50, block=20, longest=0), "longest"),
])
def test_impossible_folds_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        walk_forward(100, **options)
