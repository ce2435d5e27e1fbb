"""The plain recurrent network against PyTorch, against plain loops, and for the invariances it must have."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonlib.recurrent import (
    RecurrentNetwork,
    from_torch,
    initial_network,
    parameter_counts,
    readout,
    rnn_forward,
    rnn_step,
    to_torch,
)

D_IN, HIDDEN, D_OUT = 5, 7, 4


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture
def network(rng) -> RecurrentNetwork:
    return initial_network(D_IN, HIDDEN, D_OUT, rng)


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("start", ["zero", "given"])
def test_equals_torch_with_our_weights(network, rng, batch, start):
    x = rng.normal(size=(batch, 11, D_IN))
    h0 = rng.normal(size=(batch, HIDDEN)) if start == "given" else None
    rnn, head = to_torch(network)
    theirs, last = rnn(torch.as_tensor(x), None if h0 is None else torch.as_tensor(h0)[None])
    ours = rnn_forward(network, x, h0)
    assert ours.shape == (batch, 11, HIDDEN)
    assert np.abs(ours - theirs.detach().numpy()).max() < 1e-12
    assert np.abs(ours[:, -1] - last[0].detach().numpy()).max() < 1e-12
    assert np.abs(readout(network, ours) - head(theirs).detach().numpy()).max() < 1e-12


def test_equals_torch_with_their_weights(rng):
    torch.manual_seed(0)
    rnn = torch.nn.RNN(D_IN, HIDDEN, batch_first=True).double()
    head = torch.nn.Linear(HIDDEN, D_OUT).double()
    assert (rnn.bias_hh_l0 != 0).any()  # both biases count
    x = rng.normal(size=(2, 9, D_IN))
    network = from_torch(rnn, head)
    theirs, _ = rnn(torch.as_tensor(x))
    assert np.abs(rnn_forward(network, x) - theirs.detach().numpy()).max() < 1e-12
    back, _ = to_torch(network)
    assert np.abs(back(torch.as_tensor(x))[0].detach().numpy() - theirs.detach().numpy()).max() < 1e-12


def test_leaving_out_the_second_bias_is_noticed(rng):
    torch.manual_seed(0)
    rnn = torch.nn.RNN(D_IN, HIDDEN, batch_first=True).double()
    x = torch.as_tensor(rng.normal(size=(1, 4, D_IN)))
    before = rnn(x)[0]
    with torch.no_grad():
        rnn.bias_hh_l0.zero_()
    assert (rnn(x)[0] - before).abs().max() > 1e-3


@pytest.mark.parametrize("options", [{"num_layers": 2}, {"bidirectional": True}, {"nonlinearity": "relu"},
                                     {"bias": False}])
def test_from_torch_refuses_other_networks(options):
    with pytest.raises(ValueError, match="rnn is"):
        from_torch(torch.nn.RNN(D_IN, HIDDEN, **options), torch.nn.Linear(HIDDEN, D_OUT))


def test_a_step_written_out(network, rng):
    h, x = rng.normal(size=HIDDEN), rng.normal(size=D_IN)
    by_hand = [np.tanh(sum(network.W_h[i, j] * h[j] for j in range(HIDDEN))
                       + sum(network.W_x[i, k] * x[k] for k in range(D_IN)) + network.b[i]) for i in range(HIDDEN)]
    np.testing.assert_allclose(rnn_step(network, h, x), by_hand, rtol=0, atol=1e-14)


def test_forward_is_repeated_steps(network, rng):
    x = rng.normal(size=(3, 6, D_IN))
    states = rnn_forward(network, x)
    for b in range(3):
        h = np.zeros(HIDDEN)
        for t in range(6):
            h = rnn_step(network, h, x[b, t])
            np.testing.assert_allclose(states[b, t], h, rtol=0, atol=1e-14)


@settings(max_examples=25, deadline=None)
@given(batch=st.integers(1, 3), length=st.integers(2, 12), data=st.data())
def test_a_stream_may_be_split_anywhere(batch, length, data):
    cut = data.draw(st.integers(1, length - 1))
    rng = np.random.default_rng(length)
    network = initial_network(2, 4, 1, rng)
    x, h0 = rng.normal(size=(batch, length, 2)), rng.normal(size=(batch, 4))
    whole = rnn_forward(network, x, h0)
    first = rnn_forward(network, x[:, :cut], h0)
    second = rnn_forward(network, x[:, cut:], first[:, -1])
    np.testing.assert_allclose(np.concatenate([first, second], axis=1), whole, rtol=0, atol=1e-14)


def test_order_of_the_batch(network, rng):
    x, h0 = rng.normal(size=(3, 6, D_IN)), rng.normal(size=(3, HIDDEN))
    order = [2, 0, 1]
    np.testing.assert_allclose(rnn_forward(network, x[order], h0[order]), rnn_forward(network, x, h0)[order],
                               rtol=0, atol=1e-14)
    np.testing.assert_allclose(rnn_forward(network, x[1:2], h0[1:2])[0], rnn_forward(network, x, h0)[1],
                               rtol=0, atol=1e-14)


def test_causal(network, rng):
    x = rng.normal(size=(2, 8, D_IN))
    states = rnn_forward(network, x)
    for t in range(8):
        changed = x.copy()
        changed[:, t] += 1.0
        after = rnn_forward(network, changed)
        assert np.array_equal(after[:, :t], states[:, :t])
        assert (after[:, t] != states[:, t]).any()


def test_arguments_are_not_changed(network, rng):
    x, h0 = rng.normal(size=(2, 3, D_IN)), rng.normal(size=(2, HIDDEN))
    kept = x.copy(), h0.copy()
    rnn_forward(network, x, h0)
    assert np.array_equal(x, kept[0]) and np.array_equal(h0, kept[1])


@pytest.mark.parametrize("d_in, hidden, d_out", [(3, 8, 1), (1, 32, 2), (8, 64, 8), (37, 128, 37)])
def test_parameter_counts(d_in, hidden, d_out):
    rnn, head = torch.nn.RNN(d_in, hidden), torch.nn.Linear(hidden, d_out)
    theirs = sum(p.numel() for p in rnn.parameters()), sum(p.numel() for p in head.parameters())
    assert parameter_counts(d_in, hidden, d_out, biases=2) == theirs
    ours = initial_network(d_in, hidden, d_out, np.random.default_rng(0))
    assert sum(parameter_counts(d_in, hidden, d_out)) == ours.n_parameters
    assert (ours.input_size, ours.hidden_size, ours.output_size) == (d_in, hidden, d_out)


def test_initial_weights_have_the_distribution_of_torch():
    network = initial_network(40, 100, 30, np.random.default_rng(1))
    torch.manual_seed(1)
    rnn, head = torch.nn.RNN(40, 100), torch.nn.Linear(100, 30)
    pairs = [(network.W_h, rnn.weight_hh_l0), (network.W_x, rnn.weight_ih_l0), (network.W_y, head.weight),
             (network.b, rnn.bias_ih_l0), (network.c, head.bias)]
    for ours, theirs in pairs:
        theirs = theirs.detach().numpy()
        assert ours.shape == theirs.shape
        assert np.abs(ours).max() <= 0.1 and np.abs(theirs).max() <= 0.1
        if ours.size > 1000:
            assert abs(ours.std() - 0.1 / np.sqrt(3)) < 2e-3 and abs(theirs.std() - 0.1 / np.sqrt(3)) < 2e-3


@pytest.mark.parametrize("bad, message", [
    (np.zeros((2, 3)), r"inputs has shape \(2, 3\); it must be \(any, any, 5\)"),
    (np.zeros((2, 3, 4)), r"inputs has shape \(2, 3, 4\)"),
    (np.zeros((2, 0, 5)), "inputs has shape .* not empty"),
    (np.zeros((0, 3, 5)), "inputs has shape .* not empty"),
    (np.full((1, 2, 5), np.nan), "inputs holds NaN"),
    (np.full((1, 2, 5), np.inf), "inputs holds NaN or infinity"),
])
def test_bad_inputs(network, bad, message):
    with pytest.raises(ValueError, match=message):
        rnn_forward(network, bad)


@pytest.mark.parametrize("bad", [np.zeros(7), np.zeros((1, 7)), np.zeros((2, 6)), np.full((2, 7), np.nan)])
def test_bad_initial_state(network, bad):
    with pytest.raises(ValueError, match="initial_state"):
        rnn_forward(network, np.zeros((2, 3, 5)), bad)


@pytest.mark.parametrize("name, array", [
    ("W_h", np.zeros((3, 2))), ("W_h", np.zeros(3)), ("W_x", np.zeros((2, 2))), ("W_x", np.zeros(3)),
    ("b", np.zeros(2)), ("W_y", np.zeros((1, 2))), ("c", np.zeros(2)), ("b", [0, np.nan, 0]),
    ("W_x", np.zeros((3, 0))),
])
def test_bad_weights(name, array):
    weights = {"W_h": np.zeros((3, 3)), "W_x": np.zeros((3, 2)), "b": np.zeros(3), "W_y": np.zeros((1, 3)),
               "c": np.zeros(1)}
    RecurrentNetwork(**weights)
    with pytest.raises(ValueError, match=name):
        RecurrentNetwork(**{**weights, name: array})


def test_other_bad_arguments(network, rng):
    with pytest.raises(ValueError, match="states has shape"):
        readout(network, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="hidden_size is 0"):
        initial_network(1, 0, 1, rng)
    with pytest.raises(ValueError, match="sizes are"):
        parameter_counts(0, 3, 3)
