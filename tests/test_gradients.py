"""Jacobian products, bounds and probes against autograd, closed forms and finite differences."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonlib import gradients as G
from lessonlib import probes as P
from lessonlib.matrices import scaled_orthogonal

torch.set_num_threads(1)


def network(seed, size=5, steps=7, batch=()):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(*batch, size, size)) * 0.6, rng.normal(size=(*batch, steps, size)),
            rng.normal(size=(*batch, size)))


# One unit ------------------------------------------------------------------------------------------------------

def test_powers_table_is_w_to_the_n():
    table = G.powers_table([0.5, 0.9, 1.1], [0, 1, 10, 100])
    assert np.allclose(table, [[w**n for n in (0, 1, 10, 100)] for w in (0.5, 0.9, 1.1)], rtol=1e-13)


# The recurrence and its Jacobians ------------------------------------------------------------------------------

@pytest.mark.parametrize("activation", G.ACTIVATIONS)
def test_error_signals_and_product_agree_with_autograd(activation):
    W_h, inputs, delta = network(1)
    h_0 = np.random.default_rng(2).normal(size=5)
    states, slopes = G.run_recurrence(W_h, inputs, h_0, activation=activation)
    signals = G.error_signals(W_h, slopes, delta)

    def last_state(start):
        h = start
        for x in torch.tensor(inputs):
            h = torch.tensor(W_h) @ h + x
            h = torch.tanh(h) if activation == "tanh" else h
        return h

    start = torch.tensor(h_0, requires_grad=True)
    jacobian = torch.autograd.functional.jacobian(last_state, start).numpy()
    assert np.allclose(states[-1], last_state(start).detach().numpy(), atol=1e-12)
    assert np.allclose(G.jacobian_product(W_h, slopes), jacobian, atol=1e-12)
    assert np.allclose(signals[-1], jacobian.T @ delta, atol=1e-12)
    assert np.allclose(signals[0], delta)


def test_error_signal_agrees_with_central_differences():
    W_h, inputs, delta = network(4)
    h_0 = np.full(5, 0.1)
    signal = G.error_signals(W_h, G.run_recurrence(W_h, inputs, h_0)[1], delta)[-1]
    for i in range(5):
        step = 1e-6 * np.eye(5)[i]
        up, down = (delta @ G.run_recurrence(W_h, inputs, h_0 + s)[0][-1] for s in (step, -step))
        assert signal[i] == pytest.approx((up - down) / 2e-6, abs=1e-8)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 6), st.floats(0.05, 4.0))
def test_bound_is_never_violated(seed, size, scale):
    W_h, inputs, delta = network(seed, size=size, steps=12)
    _, slopes = G.run_recurrence(scale * W_h, inputs)
    norms = np.linalg.norm(G.error_signals(scale * W_h, slopes, delta), axis=-1)
    assert (norms <= G.gradient_bound(scale * W_h, range(13)) * norms[0] * (1 + 1e-9)).all()


def test_networks_side_by_side_are_the_networks_one_by_one():
    W_h, inputs, delta = network(5, batch=(3,))
    _, slopes = G.run_recurrence(W_h, inputs)
    together = G.error_signals(W_h, slopes, delta)
    for i in range(3):
        _, alone = G.run_recurrence(W_h[i], inputs[i])
        assert np.allclose(G.error_signals(W_h[i], alone, delta[i]), together[i], atol=1e-14)
    rngs = [np.random.default_rng(s) for s in (7, 1)]
    both = G.gradient_norms_through_tanh(1.0, 1.0, rngs, size=8, steps=20)
    one = G.gradient_norms_through_tanh(1.0, 1.0, [np.random.default_rng(1)], size=8, steps=20)
    assert both.shape == (2, 21) and np.allclose(both[1], one[0], rtol=1e-10)


def test_without_inputs_the_norm_is_rho_to_the_lag_and_linear_networks_keep_it():
    norms = G.gradient_norms_through_tanh(0.8, 0.0, [np.random.default_rng(0)], steps=40)[0]
    assert np.allclose(norms, 0.8 ** np.arange(41), rtol=1e-10)


def test_mean_field_factor_agrees_with_a_wide_network():
    variance, factor = G.mean_field_factor(1.5, 1.0)
    rng = np.random.default_rng(0)
    W_h = scaled_orthogonal(400, 1.5, rng)
    states, slopes = G.run_recurrence(W_h, rng.standard_normal((60, 400)))
    z = np.arctanh(np.clip(states[30:], -1 + 1e-15, 1 - 1e-15))
    assert z.var() == pytest.approx(variance, rel=0.05)
    norms = np.linalg.norm(G.error_signals(W_h, slopes[30:], rng.standard_normal(400)), axis=1)
    assert (norms[20] / norms[0]) ** (1 / 20) == pytest.approx(factor, rel=0.03)
    assert G.mean_field_factor(0.8, 0.0) == pytest.approx((0.0, 0.8), abs=1e-9)


# Probes -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", P.MIXERS)
def test_probe_is_causal_repeatable_and_leaves_the_global_generator_alone(kind):
    before = torch.random.get_rng_state()
    probe = P.MixingProbe(kind, 11).double()
    assert torch.equal(before, torch.random.get_rng_state())
    again = P.MixingProbe(kind, 11).double()
    norms = P.gradient_by_position(probe, 6, 11)
    assert norms.shape == (6,) and (norms > 0).all()
    assert torch.equal(norms, P.gradient_by_position(again, 6, 11))


def test_probe_gradient_agrees_with_central_differences():
    probe = P.MixingProbe("rnn", 11).double()
    gradient = P.input_gradients(probe, 4, 11)
    draw = torch.Generator().manual_seed(11)
    ids, targets = torch.randint(1, 32, (16, 4), generator=draw), torch.randint(1, 32, (16,), generator=draw)
    embedded = probe.embedding(ids).detach()
    step = torch.zeros_like(embedded)
    step[3, 2, 5] = 1e-6
    with torch.no_grad():
        up, down = (torch.nn.functional.cross_entropy(probe.logits(embedded + s), targets) for s in (step, -step))
    assert gradient[3, 2, 5].item() == pytest.approx((up - down).item() / 2e-6, rel=1e-4, abs=1e-9)


def test_step_gradients_of_a_linearised_network_shrink_by_the_matrix():
    run = P.step_gradients("rnn", 1.0, steps=12, input_scale=0.0, dtype=torch.float64)
    draw = torch.Generator().manual_seed(1)
    torch.randn(16, 32, generator=draw)
    matrix = torch.randn(32, 32, generator=draw).double() / 32**0.5  # zero states: every slope is 1
    readout = torch.Generator().manual_seed(0)
    torch.randn(12, 64, 16, generator=readout)
    v = (torch.randn(32, 1, generator=readout) * 0.2).double()
    expected = [(torch.linalg.matrix_power(matrix, 11 - t) @ v).norm().item() * 0.5 / 8 for t in range(12)]
    assert run.norms == pytest.approx(expected, rel=1e-6)
    assert run.ratio == pytest.approx(expected[0] / expected[-1], rel=1e-6)


def test_forget_bias_is_set_once_not_twice():
    open_gate = P.step_gradients("lstm", 5.0, steps=20, input_scale=0.0, dtype=torch.float64)
    assert 0.9 < open_gate.factor < 1.2 and len(open_gate.norms) == 20


def test_reach():
    assert P.reach([1e-9, 1e-2, 1e-1, 1.0]) == 2
    assert P.reach([0.5, 1.0]) == 1
    assert P.reach([1.0, 1e-9, 1.0]) == 0


# Bad input ----------------------------------------------------------------------------------------------------

SQUARE, STEPS = np.eye(3), np.ones((4, 3))


@pytest.mark.parametrize("call, name", [
    (lambda: G.powers_table([], [1]), "factors"),
    (lambda: G.powers_table([0.5], [-1]), "lags"),
    (lambda: G.run_recurrence(SQUARE, np.ones((4, 2))), "inputs"),
    (lambda: G.run_recurrence(SQUARE, np.ones((0, 3))), "inputs"),
    (lambda: G.run_recurrence(SQUARE, STEPS, np.ones(2)), "h_0"),
    (lambda: G.run_recurrence(SQUARE, STEPS, activation="relu"), "activation"),
    (lambda: G.error_signals(SQUARE, np.ones((4, 2)), np.ones(3)), "slopes"),
    (lambda: G.gradient_bound(SQUARE, [1], gamma=0), "gamma"),
    (lambda: G.gradient_norms_through_tanh(1.0, 1.0, []), "rngs"),
    (lambda: G.gradient_norms_through_tanh(1.0, -1.0, [np.random.default_rng(0)]), "sigma_x"),
    (lambda: G.mean_field_factor(0.0, 1.0), "rho"),
    (lambda: P.MixingProbe("cnn", 0), "kind"),
    (lambda: P.gradient_by_position(P.MixingProbe("rnn", 0), 0, 0), "length"),
    (lambda: P.step_gradients("gru", 1.0), "kind"),
    (lambda: P.step_gradients("rnn", None), "setting"),
    (lambda: P.step_gradients("rnn", 1.0, steps=0), "steps"),
    (lambda: P.reach([]), "norms"),
])
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=name):
        call()
