"""Softmax, entropy and drawing against PyTorch, SciPy and closed forms."""

import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonlib.recurrent import initial_network, readout, rnn_forward
from lessonlib.sampling import entropy, generate, sample, softmax
from lessonlib.symbols import one_hot

LOGITS = st.lists(st.floats(-50, 50), min_size=1, max_size=8)


@settings(max_examples=50, deadline=None)
@given(LOGITS, st.floats(0.05, 50))
def test_softmax_equals_torch_and_scipy(logits, temperature):
    ours = softmax(logits, temperature)
    scaled = np.array(logits) / temperature
    np.testing.assert_allclose(ours, torch.softmax(torch.as_tensor(scaled), dim=0).numpy(), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(ours, scipy.special.softmax(scaled), rtol=1e-10, atol=1e-15)
    assert abs(ours.sum() - 1) < 1e-12


def test_softmax_of_the_book():
    assert softmax([2, 1, 0]).round(3).tolist() == [0.665, 0.245, 0.09]
    assert softmax([2, 1, 0], 0.5).round(3).tolist() == [0.867, 0.117, 0.016]
    assert softmax([2, 1, 0], 2).round(3).tolist() == [0.506, 0.307, 0.186]


def test_limits_of_the_temperature():
    assert softmax([2.0, 1.0, 0.0], 1e-310).tolist() == [1, 0, 0]
    assert softmax([2.0, 2.0, 0.0], 1e-3).tolist() == [0.5, 0.5, 0]
    np.testing.assert_allclose(softmax([2.0, 1.0, 0.0], 1e12), 1 / 3, atol=1e-11)


def test_softmax_works_on_the_last_axis_and_ignores_a_shift():
    y = np.random.default_rng(0).normal(size=(2, 3, 4))
    p = softmax(y, 0.7)
    np.testing.assert_allclose(p[1, 2], softmax(y[1, 2], 0.7), atol=1e-15)
    np.testing.assert_allclose(softmax(y + 1000, 0.7), p, atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(LOGITS)
def test_entropy_equals_scipy(logits):
    p = softmax(logits)
    np.testing.assert_allclose(entropy(p), scipy.stats.entropy(p), atol=1e-9)
    assert -1e-12 <= entropy(p) <= np.log(len(p)) + 1e-12


def test_entropy_of_extremes():
    assert float(entropy([0, 1, 0])) == 0
    assert abs(float(entropy(np.full(8, 1 / 8))) - 3 * np.log(2)) < 1e-14
    assert entropy(np.full((2, 5, 4), 0.25)).shape == (2, 5)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=6), st.floats(0.1, 5), st.floats(1.1, 4))
def test_entropy_does_not_fall_with_the_temperature(logits, temperature, factor):
    assert entropy(softmax(logits, temperature * factor)) >= entropy(softmax(logits, temperature)) - 1e-9


def test_sample_has_the_frequencies_asked_for():
    p, n = np.array([0.5, 0.0, 0.3, 0.2]), 20_000
    rng = np.random.default_rng(5)
    counts = np.bincount([sample(p, rng) for _ in range(n)], minlength=4)
    assert counts[1] == 0
    assert scipy.stats.chisquare(counts[p > 0], n * p[p > 0]).pvalue > 1e-3


def test_sample_by_intervals():
    class Fixed:
        def __init__(self, value): self.value = value
        def random(self): return self.value
    for u, index in ((0.0, 1), (0.49, 1), (0.5, 2), (np.nextafter(1, 0), 2)):
        assert sample([0.0, 0.5, 0.5, 0.0], Fixed(u)) == index
    assert isinstance(sample([1.0], np.random.default_rng(0)), int)


def test_generate_feeds_back_what_it_drew():
    network = initial_network(6, 10, 6, np.random.default_rng(2))
    drawn = generate(network, 0, 12, 0.8, np.random.default_rng(7))
    # the same draws from one pass over the sequence that was fed: start, then all but the last symbol
    states = rnn_forward(network, one_hot([0, *drawn[:-1]], 6)[None])[0]
    rng = np.random.default_rng(7)
    assert drawn == [sample(softmax(y, 0.8), rng) for y in readout(network, states)]
    assert drawn == generate(network, 0, 12, 0.8, np.random.default_rng(7))
    assert drawn != generate(network, 0, 12, 0.8, np.random.default_rng(8))


def test_generate_near_zero_temperature_is_greedy():
    network = initial_network(6, 10, 6, np.random.default_rng(2))
    drawn = generate(network, 0, 12, 1e-9, np.random.default_rng(7))
    states = rnn_forward(network, one_hot([0, *drawn[:-1]], 6)[None])[0]
    assert drawn == readout(network, states).argmax(axis=-1).tolist()


@pytest.mark.parametrize("temperature", [0, -1, np.nan, np.inf])
def test_bad_temperature(temperature):
    with pytest.raises(ValueError, match="temperature is"):
        softmax([1.0, 2.0], temperature)


@pytest.mark.parametrize("logits", [[], [np.nan, 0], [np.inf, 0], np.zeros((0, 3)), 1.0])
def test_bad_logits(logits):
    with pytest.raises(ValueError, match="logits has shape"):
        softmax(logits)


@pytest.mark.parametrize("p", [[], [0.5, 0.6], [1.5, -0.5], [np.nan, 1.0]])
def test_bad_probabilities(p):
    with pytest.raises(ValueError, match="probabilities"):
        entropy(p)
    with pytest.raises(ValueError, match="probabilities"):
        sample(p, np.random.default_rng(0))


def test_other_bad_arguments():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="probabilities has shape"):
        sample([[1.0]], rng)
    with pytest.raises(ValueError, match="network has 3 inputs and 2 outputs"):
        generate(initial_network(3, 4, 2, rng), 0, 1, 1.0, rng)
    network = initial_network(3, 4, 3, rng)
    with pytest.raises(ValueError, match="n_symbols"):
        generate(network, 0, 0, 1.0, rng)
    with pytest.raises(ValueError, match="indices"):
        generate(network, 3, 1, 1.0, rng)
