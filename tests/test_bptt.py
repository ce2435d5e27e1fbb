"""Backpropagation through time against autograd, the double sum, real-time learning and central differences."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonlib import bptt as P
from lessonlib import bptt_checks as K
from lessonlib import sequence_loss as S
from lessonlib.drawings_bptt import draw_truncation, draw_two_paths, walk_back
from lessonlib.figures import inline_svg
from lessonlib.recurrent import RecurrentNetwork, initial_network, readout, rnn_forward, to_torch
from lessonlib.symbols import cross_entropy, one_hot
from lessonlib.truncation import Adam, first_symbol_batch, last_step_gradients, train_first_symbol

torch.set_num_threads(1)


def problem(batch=3, length=7, seed=0, vocabulary=5, hidden=6, dtype=np.float64):
    """Weights, ids, targets and a state that is not zero."""
    rng = np.random.default_rng(seed)
    weights = P.Weights(initial_network(vocabulary, hidden, vocabulary, rng), dtype)
    weights.flat *= 2  # far enough from zero that tanh bends
    ids, targets = rng.integers(0, vocabulary, (2, batch, length))
    return weights, ids, targets, rng.normal(size=(batch, hidden)).astype(dtype)


def by_autograd(weights, inputs, targets, state):
    """Loss and the six gradients by PyTorch, in the order of `NAMES` and then the initial state."""
    rnn, head = to_torch(weights.network())
    start = torch.tensor(np.asarray(state, float)[None], requires_grad=True)
    x = one_hot(inputs, rnn.input_size) if inputs.ndim == 2 else inputs
    states, _ = rnn(torch.as_tensor(x), start)
    loss = torch.nn.functional.cross_entropy(head(states).flatten(0, 1), torch.as_tensor(targets).flatten())
    wanted = [rnn.weight_hh_l0, rnn.weight_ih_l0, rnn.bias_ih_l0, head.weight, head.bias, start]
    return loss.item(), [g.numpy() for g in torch.autograd.grad(loss, wanted)]


def closest(result, loss, gradients):
    """Largest difference of a `Result` from autograd's loss and gradients."""
    pairs = [*((getattr(result.gradients, n), g) for n, g in zip(P.NAMES, gradients[:-1], strict=True)),
             (result.initial_state, gradients[-1][0]), (result.loss, loss)]
    return max(np.abs(np.asarray(a) - b).max() for a, b in pairs)


# Against independent code ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("length", [1, 2, 9])
def test_every_gradient_equals_autograd(batch, length):
    """Terms of the recursion left out, or indices off by one, are the usual faults of a backward pass."""
    weights, ids, targets, state = problem(batch, length)
    assert closest(S.loss_and_gradients(weights, ids, targets, state), *by_autograd(weights, ids, targets, state)) < 1e-12


def test_vectors_as_inputs_equal_autograd_and_ids_are_one_hot_vectors():
    weights, ids, targets, state = problem()
    x = np.random.default_rng(1).normal(size=(*ids.shape, 5))
    assert closest(S.loss_and_gradients(weights, x, targets, state), *by_autograd(weights, x, targets, state)) < 1e-12
    by_ids, by_rows = (S.loss_and_gradients(weights, i, targets, state) for i in (ids, one_hot(ids, 5)))
    assert np.allclose(by_ids.gradients.flat, by_rows.gradients.flat, atol=1e-14)


def test_forward_equals_the_network_of_the_chapter_before():
    weights, ids, targets, state = problem()
    tape, network = P.forward(weights, ids, state), weights.network()
    states = rnn_forward(network, one_hot(ids, 5), state)
    assert np.allclose(tape.states[1:].swapaxes(0, 1), states, atol=1e-14)
    assert np.allclose(tape.outputs.swapaxes(0, 1), readout(network, states), atol=1e-14)
    loss, last = S.mean_loss(weights, ids, targets, state)
    assert loss == pytest.approx(cross_entropy(readout(network, states), targets).mean(), abs=1e-14)
    assert np.allclose(last, states[:, -1], atol=1e-14)


def test_three_steps_of_one_unit_by_closed_form():
    """A text's derivative through time that leaves out recursive terms: all three terms stand here."""
    w, u, x, y = 0.7, 0.4, (1.0, -0.5, 2.0), 0.3
    h = [0.2]
    for value in x:
        h.append(np.tanh(w * h[-1] + u * value))
    g3 = (1 - h[3] ** 2) * (h[3] - y)
    g2 = (1 - h[2] ** 2) * w * g3
    g1 = (1 - h[1] ** 2) * w * g2
    weights = P.Weights(RecurrentNetwork([[w]], [[u]], [0], [[1]], [0]))
    tape = P.forward(weights, np.array(x).reshape(1, 3, 1), [[0.2]])
    gradients = P.backward(weights, tape, np.array([0, 0, h[3] - y]).reshape(3, 1, 1))
    assert gradients.weights.W_h.item() == pytest.approx(g3 * h[2] + g2 * h[1] + g1 * h[0], rel=1e-13)
    assert gradients.weights.W_x.item() == pytest.approx(g3 * x[2] + g2 * x[1] + g1 * x[0], rel=1e-13)
    assert gradients.initial_state.item() == pytest.approx(w * g1, rel=1e-13)


@pytest.mark.parametrize("length", [1, 2, 6])
def test_recursion_double_sum_and_real_time_learning_agree(length):
    weights, ids, _, state = problem(1, length)
    dy = np.random.default_rng(2).normal(size=(length, 1, 5))
    tape = P.forward(weights, ids, state)
    recursion = P.backward(weights, tape, dy)
    signals, products = K.separate_signals(weights, ids[0], dy[:, 0], state[0])
    assert products == sum(s - t for s in range(length) for t in range(s + 1))
    assert np.allclose(signals.sum(axis=0), recursion.g[:, 0], atol=1e-13)
    assert np.allclose(K.double_sum(signals, tape.states[:, 0]), recursion.weights.W_h, atol=1e-13)
    forwards = K.real_time_gradients(weights, ids[0], dy[:, 0], state[0])
    assert np.allclose(forwards.flat, recursion.weights.flat, atol=1e-13)


def test_real_time_learning_takes_vectors_too():
    weights, ids, _, _ = problem(1)
    dy = np.ones((7, 5))
    by_ids, by_rows = (K.real_time_gradients(weights, i, dy) for i in (ids[0], one_hot(ids[0], 5)))
    assert np.allclose(by_ids.flat, by_rows.flat, atol=1e-14)


# Invariances ----------------------------------------------------------------------------------------------------

def test_sequences_of_a_batch_do_not_touch_each_other():
    weights, ids, targets, state = problem()
    whole = S.loss_and_gradients(weights, ids, targets, state)
    alone = [S.loss_and_gradients(weights, ids[i:i + 1], targets[i:i + 1], state[i:i + 1]) for i in range(3)]
    assert np.allclose(whole.gradients.flat, np.mean([r.gradients.flat for r in alone], axis=0), atol=1e-14)
    assert np.allclose(whole.last_state, np.concatenate([r.last_state for r in alone]), atol=1e-14)
    order = [2, 0, 1]
    turned = S.loss_and_gradients(weights, ids[order], targets[order], state[order])
    assert np.allclose(turned.gradients.flat, whole.gradients.flat, atol=1e-14)
    assert np.allclose(turned.initial_state, whole.initial_state[order], atol=1e-14)


def test_a_signal_goes_back_in_time_only():
    """No loss at step s may put a signal at a later step."""
    weights, ids, _, state = problem()
    dy = np.zeros((7, 3, 5))
    dy[3] = 1
    g = P.backward(weights, P.forward(weights, ids, state), dy).g
    assert (g[4:] == 0).all() and (np.abs(g[:4]).max(axis=(1, 2)) > 0).all()


def test_the_result_is_kept_when_the_function_runs_again():
    weights, ids, targets, state = problem()
    first = S.loss_and_gradients(weights, ids, targets, state)
    kept, before = first.gradients.flat.copy(), weights.flat.copy()
    S.loss_and_gradients(weights, ids[::-1], targets, state)
    assert (first.gradients.flat == kept).all() and (weights.flat == before).all()


@given(st.integers(1, 3), st.integers(1, 12), st.integers(1, 14))
@settings(max_examples=25, deadline=None)
def test_truncation_equals_autograd_with_a_cut_at_every_boundary(batch, length, chunk):
    weights, ids, targets, state = problem(batch, length, seed=length)
    result = S.truncated_gradients(weights, ids, targets, chunk, state)
    rnn, head = to_torch(weights.network())
    h, loss = torch.as_tensor(state)[None], 0.0
    for start in range(0, length, chunk):
        x = torch.as_tensor(one_hot(ids[:, start:start + chunk], 5))
        out, h = rnn(x, h.detach())
        y = torch.as_tensor(targets[:, start:start + chunk]).flatten()
        loss = loss + torch.nn.functional.cross_entropy(head(out).flatten(0, 1), y, reduction="sum") / targets.size
    wanted = torch.autograd.grad(loss, [rnn.weight_hh_l0, rnn.weight_ih_l0, rnn.bias_ih_l0, head.weight, head.bias])
    assert max(np.abs(getattr(result.gradients, n) - g.numpy()).max() for n, g in zip(P.NAMES, wanted, strict=True)) < 1e-12
    assert result.loss == pytest.approx(loss.item(), abs=1e-12)


def test_truncation_at_the_whole_length_is_no_truncation_and_a_shorter_one_is():
    weights, ids, targets, state = problem()
    full = S.loss_and_gradients(weights, ids, targets, state)
    for chunk in (7, 50):
        whole = S.truncated_gradients(weights, ids, targets, chunk, state)
        assert np.allclose(whole.gradients.flat, full.gradients.flat, atol=1e-15)
        assert np.allclose(whole.initial_state, full.initial_state, atol=1e-15)
    short = S.truncated_gradients(weights, ids, targets, 3, state)
    assert short.loss == pytest.approx(full.loss, abs=1e-13)        # the state is carried
    assert np.allclose(short.last_state, full.last_state, atol=1e-14)
    assert np.abs(short.gradients.W_h - full.gradients.W_h).max() > 1e-4
    assert np.allclose(short.gradients.W_y, full.gradients.W_y, atol=1e-14)  # the output layer needs no past


def test_single_precision_agrees_with_double():
    exact, ids, targets, state = problem(4, 20)
    weights = P.Weights(exact, np.float32)
    single, double = (S.loss_and_gradients(w, ids, targets, state) for w in (weights, exact))
    assert single.gradients.flat.dtype == np.float32 and single.last_state.dtype == np.float32
    assert np.abs(single.gradients.flat - double.gradients.flat).max() < 1e-6


def test_large_logits_do_not_overflow():
    loss, signals = S.cross_entropy_signals(np.array([[[1000.0, 0, -1000]]]), np.array([[1]]))
    assert loss == pytest.approx(1000) and np.allclose(signals, [[[1, -1, 0]]])


def test_weights_are_views_of_one_vector():
    weights, *_ = problem()
    weights.flat[0] = 9
    assert weights.W_h[0, 0] == 9
    weights.c[-1] = 8
    assert weights.flat[-1] == 8 and weights.network().c[-1] == 8
    copy = P.Weights(weights)
    copy.flat[:] = 0
    assert weights.flat[-1] == 8


# Gradient checking ----------------------------------------------------------------------------------------------

def check(weights, ids, targets, state, gradients=None, **options):
    gradients = gradients or S.loss_and_gradients(weights, ids, targets, state).gradients
    return K.check_gradients(lambda: S.mean_loss(weights, ids, targets, state)[0], K.by_name(weights),
                             K.by_name(gradients), rng=np.random.default_rng(0), **options)


@pytest.mark.parametrize("entries", [5, None])
def test_central_differences_confirm_every_parameter(entries):
    weights, ids, targets, state = problem()
    before = weights.flat.copy()
    rows = check(weights, ids, targets, state, entries=entries)
    assert [r.name for r in rows] == list(P.NAMES)
    assert all(r.worst < 1e-6 and r.not_zero >= 5 for r in rows)
    assert (weights.flat == before).all()


def test_the_initial_state_can_be_checked_too():
    weights, ids, targets, state = problem()
    result = S.loss_and_gradients(weights, ids, targets, state)
    row, = K.check_gradients(lambda: S.mean_loss(weights, ids, targets, state)[0], {"h_0": state},
                             {"h_0": result.initial_state}, rng=np.random.default_rng(0), entries=None)
    assert row.worst < 1e-6 and row.not_zero == row.compared == state.size


def test_entries_that_do_not_matter_are_not_mistaken_for_evidence():
    """Columns of W_x for symbols that do not occur have no gradient; a check that samples those checks nothing."""
    rng = np.random.default_rng(3)
    weights = P.Weights(initial_network(40, 6, 40, rng))
    ids, targets = rng.integers(0, 40, (2, 1, 3))
    rows = {r.name: r for r in check(weights, ids, targets, np.zeros((1, 6)))}
    assert rows["W_x"].not_zero == 5 and rows["W_x"].compared == 10


def test_a_gradient_that_is_zero_by_mistake_is_found():
    weights, ids, targets, state = problem()
    wrong = S.loss_and_gradients(weights, ids, targets, state).gradients
    wrong.W_x[:] = 0
    rows = {r.name: r for r in check(weights, ids, targets, state, wrong)}
    assert rows["W_x"].worst == 1 and rows["W_x"].not_zero == 5


def without_the_recursive_term(weights, ids, targets, state):
    """The fault: g_t without W_h^T g_{t+1}."""
    tape = P.forward(weights, ids, state)
    _, dy = S.cross_entropy_signals(tape.outputs, targets.T)
    g = (1 - tape.states[1:] ** 2) * (dy @ weights.W_y)
    return P.weight_sums(weights, tape, g.reshape(-1, g.shape[-1]), dy.reshape(-1, dy.shape[-1]))


@pytest.mark.parametrize(("length", "found"), [(1, False), (2, True), (4, True)])
def test_a_missing_term_passes_at_one_step_and_fails_at_more(length, found):
    weights, ids, targets, state = problem(2, length)
    rows = check(weights, ids, targets, state, without_the_recursive_term(weights, ids, targets, state), entries=None)
    assert (max(r.worst for r in rows) > 0.1) == found


def test_one_step_from_a_zero_state_says_nothing_about_the_recurrent_weights():
    """With T = 1 and h_0 = 0 the gradient of W_h is exactly zero, whatever the code does."""
    weights, ids, targets, state = problem(2, 1)
    rows = {r.name: r for r in check(weights, ids, targets, 0 * state, entries=None)}
    assert rows["W_h"].not_zero == 0 and rows["W_h"].worst == 0 and rows["W_x"].not_zero > 0


def test_factors_in_the_wrong_order_are_another_matrix():
    rng = np.random.default_rng(0)
    W_h = rng.normal(0, 0.5, (4, 4))
    h = np.tanh(rng.normal(size=(5, 4)))
    factors = [K.jacobian_transposed(W_h, row) for row in h]
    right, wrong = K.chain(factors), K.chain(factors[::-1])
    assert np.linalg.norm(right - wrong) / np.linalg.norm(right) > 0.1
    J = [(1 - row**2)[:, None] * W_h for row in h]
    assert np.allclose(right, K.chain(J[::-1]).T, atol=1e-14)
    same = K.chain([W_h.T * 0.5] * 3)
    assert np.allclose(same, K.chain([0.5 * W_h.T] * 3))             # equal slopes: the order cannot matter


@pytest.mark.parametrize("fault", ["slopes after the matrix", "matrix not transposed"])
def test_the_wrong_order_inside_the_recursion_is_detected(fault):
    """One step back is W_h^T diag(phi'), neither diag(phi') W_h^T nor W_h diag(phi')."""
    weights, ids, targets, state = problem(1, 5)
    tape = P.forward(weights, ids, state)
    _, dy = S.cross_entropy_signals(tape.outputs, targets.T)
    g, later = np.zeros((5, 6)), np.zeros(6)
    for t in range(4, -1, -1):
        slope = 1 - tape.states[t + 1, 0] ** 2
        delta = dy[t, 0] @ weights.W_y + later
        g[t] = slope * delta
        later = slope * (weights.W_h.T @ delta) if fault.startswith("slopes") else weights.W_h @ g[t]
    wrong = P.weight_sums(weights, tape, g, dy[:, 0])
    rows = {r.name: r for r in check(weights, ids, targets, state, wrong)}
    assert rows["W_h"].worst > 1e-2 and rows["W_y"].worst < 1e-6


# Bad input ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("change", "message"), [
    ({"ids": np.zeros((3, 0), int)}, "inputs has shape"), ({"ids": np.full((3, 7), 5)}, "ids from 5 to 5"),
    ({"ids": np.full((3, 7), -1)}, "ids from -1"), ({"ids": np.zeros((3, 7, 4))}, r"\(B, T, 5\)"),
    ({"ids": np.zeros((3, 7))}, "integers"), ({"ids": np.full((3, 7, 5), np.nan)}, "inputs holds NaN"),
    ({"targets": np.zeros((3, 6), int)}, "targets has shape"), ({"targets": np.full((3, 7), 9)}, "from 0 to 4"),
    ({"targets": np.zeros((3, 7))}, "integers"), ({"state": np.zeros((2, 6))}, "initial_state has shape"),
    ({"state": np.full((3, 6), np.inf)}, "finite")])
def test_bad_input_is_named(change, message):
    weights, ids, targets, state = problem()
    given = {"ids": ids, "targets": targets, "state": state, **change}
    with pytest.raises(ValueError, match=message):
        S.loss_and_gradients(weights, given["ids"], given["targets"], given["state"])


def test_other_bad_arguments_are_named():
    weights, ids, targets, state = problem()
    with pytest.raises(ValueError, match="chunk is 0"):
        S.truncated_gradients(weights, ids, targets, 0)
    with pytest.raises(ValueError, match="output_gradients has shape"):
        P.backward(weights, P.forward(weights, ids), np.zeros((3, 7, 5)))
    with pytest.raises(ValueError, match="dtype is int64"):
        P.Weights(weights, np.int64)
    with pytest.raises(ValueError, match="float64"):
        check(P.Weights(weights, np.float32), ids, targets, state)
    with pytest.raises(ValueError, match="eps"):
        check(weights, ids, targets, state, eps=0)
    with pytest.raises(ValueError, match="names"):
        K.check_gradients(lambda: 0.0, {"a": state}, {"b": state}, rng=np.random.default_rng(0))


# The interactive walk and the task of the first symbol ------------------------------------------------------------

@pytest.mark.parametrize("cut", [None, 1, 2, 3])
def test_the_walk_that_the_figure_shows_is_the_backward_pass(cut):
    weights, ids, _, _ = problem(1, 4)
    x, dy = one_hot(ids[0], 5), np.random.default_rng(5).normal(size=(4, 5))
    walk = walk_back(weights, x, dy, cut)
    pieces = [slice(0, 4)] if cut is None else [slice(0, cut), slice(cut, 4)]
    total, state = np.zeros((6, 6)), np.zeros((1, 6))
    for piece in pieces:
        tape = P.forward(weights, x[None, piece], state)
        gradients = P.backward(weights, tape, dy[piece, None])
        assert np.allclose(walk["g"][piece], gradients.g[:, 0], atol=1e-14)
        total, state = total + gradients.weights.W_h, tape.states[-1]
    assert np.allclose(walk["terms"].sum(axis=0), total, atol=1e-14)
    assert np.allclose(walk["from_output"] + walk["from_later"], walk["delta"], atol=1e-15)
    assert np.allclose(walk["delta_0"], weights.W_h.T @ walk["g"][0], atol=1e-15)


def test_drawings_are_made_and_bad_walks_are_named():
    weights, ids, _, _ = problem(1, 4)
    walk = walk_back(weights, one_hot(ids[0], 5), np.ones((4, 5)))
    for figure in (draw_two_paths(), draw_truncation(), draw_truncation(4, 2)):
        assert "<svg" in inline_svg(figure, "a drawing of the backward pass")
    assert len(walk["h"]) == 4
    with pytest.raises(ValueError, match="cut is 4"):
        walk_back(weights, one_hot(ids[0], 5), np.ones((4, 5)), 4)
    with pytest.raises(ValueError, match="chunk 6"):
        draw_truncation(6, 6)


@pytest.mark.parametrize("chunk", [20, 7, 5, 1])
def test_the_loss_at_the_last_step_equals_autograd_behind_the_cut(chunk):
    weights = P.Weights(initial_network(4, 6, 2, np.random.default_rng(0)))
    ids, answers = first_symbol_batch(np.random.default_rng(1), 8, 20)
    result = last_step_gradients(weights, ids, answers, chunk)
    rnn, head = to_torch(weights.network())
    x, start = torch.as_tensor(one_hot(ids, 4)), (19 // chunk) * chunk
    state = rnn(x[:, :start])[1].detach() if start else None
    loss = torch.nn.functional.cross_entropy(head(rnn(x[:, start:], state)[0][:, -1]), torch.as_tensor(answers))
    wanted = torch.autograd.grad(loss, [rnn.weight_hh_l0, rnn.weight_ih_l0, rnn.bias_ih_l0, head.weight, head.bias])
    assert max(np.abs(getattr(result.gradients, n) - g.numpy()).max() for n, g in zip(P.NAMES, wanted, strict=True)) < 1e-12
    assert result.loss == pytest.approx(loss.item(), abs=1e-12)
    assert (result.gradients.W_x[:, :2] == 0).all() == (start > 0)


def test_adam_equals_pytorch_and_clips_before_it_steps():
    """Clipping after the update, or of each array by itself, would change nothing or the direction."""
    weights = P.Weights(initial_network(4, 6, 2, np.random.default_rng(0)))
    parameter = torch.nn.Parameter(torch.tensor(weights.flat.copy()))
    ours, theirs = Adam(weights), torch.optim.Adam([parameter], lr=1e-2)
    for seed, scale in ((0, 1e-3), (1, 10), (2, 1)):
        gradient = scale * np.random.default_rng(seed).normal(size=weights.flat.shape)
        norm = ours.update(gradient)
        parameter.grad = torch.tensor(gradient * min(1, 1 / np.linalg.norm(gradient)))
        theirs.step()
        assert norm == pytest.approx(np.linalg.norm(gradient))
        assert np.allclose(weights.flat, parameter.detach().numpy(), atol=1e-12)


def test_a_short_task_is_learned_and_bad_tasks_are_named():
    run = train_first_symbol(0, 3, 3, 100)
    assert run.solved and run.trace_after > run.trace_before
    ids, answers = first_symbol_batch(np.random.default_rng(0), 50, 6)
    assert (ids[:, 0] == answers).all() and (ids[:, 1:] >= 2).all()
    with pytest.raises(ValueError, match="length 1"):
        first_symbol_batch(np.random.default_rng(0), 2, 1)
    with pytest.raises(ValueError, match="chunk is 0"):
        last_step_gradients(P.Weights(initial_network(4, 6, 2, np.random.default_rng(0))), ids, answers, 0)
