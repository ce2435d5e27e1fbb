"""The character model: fast backward pass, direct translation and autograd agree; training and sampling by oracles."""

import numpy as np
import pytest
import torch

from lessonlib import character_model as C
from lessonlib.bptt import NAMES
from lessonlib.bptt_checks import by_name, check_gradients
from lessonlib.recurrent import to_torch
from lessonlib.sampling import generate
from lessonlib.sequence_loss import loss_and_gradients, mean_loss

torch.set_num_threads(1)


def problem(vocabulary=7, hidden=6, batch=3, length=5, seed=0):
    rng = np.random.default_rng(seed)
    weights = C.initial_weights(vocabulary, rng, hidden)
    weights.flat += rng.normal(0, 0.3, weights.flat.size)
    ids, targets = rng.integers(0, vocabulary, (2, batch, length))
    return weights, ids, targets, rng.normal(size=(batch, hidden))


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("length", [1, 2, 9])
def test_fast_direct_and_autograd_agree(batch, length):
    weights, ids, targets, state = problem(batch=batch, length=length)
    fast = loss_and_gradients(weights, ids, targets, state)
    loss, direct = C.direct_gradients(weights, ids, targets, state)
    assert loss == pytest.approx(fast.loss, abs=1e-13)
    assert np.abs(direct.flat - fast.gradients.flat).max() < 1e-13

    rnn, head = to_torch(weights.network())
    inputs = torch.nn.functional.one_hot(torch.as_tensor(ids), 7).double()
    logits = head(rnn(inputs, torch.as_tensor(state)[None])[0]).flatten(0, 1)
    torch.nn.functional.cross_entropy(logits, torch.as_tensor(targets).flatten()).backward()
    theirs = [rnn.weight_hh_l0, rnn.weight_ih_l0, rnn.bias_ih_l0, head.weight, head.bias]
    for name, parameter in zip(NAMES, theirs, strict=True):
        assert np.abs(getattr(direct, name) - parameter.grad.numpy()).max() < 1e-12, name


def test_the_check_of_the_direct_translation_compares_entries_that_matter():
    """A gradient check that samples columns of characters which do not occur compares zero with zero."""
    weights, ids, targets, state = problem(vocabulary=37)
    _, gradients = C.direct_gradients(weights, ids, targets, state)
    rows = check_gradients(lambda: mean_loss(weights, ids, targets, state)[0], by_name(weights), by_name(gradients),
                           rng=np.random.default_rng(1))
    assert all(row.not_zero >= 5 and row.worst < 1e-6 for row in rows)


def test_first_weights_are_drawn_in_the_stated_order_and_sizes():
    weights, rng = C.initial_weights(37, np.random.default_rng(0)), np.random.default_rng(0)
    assert np.array_equal(weights.W_x, rng.normal(0, 0.01, (128, 37)))
    assert np.array_equal(weights.W_h, rng.normal(0, 1 / np.sqrt(128), (128, 128)))
    assert np.array_equal(weights.W_y, rng.normal(0, 0.01, (37, 128)))
    assert not weights.b.any() and not weights.c.any() and weights.flat.size == 26021
    assert C.initial_weights(37, np.random.default_rng(0), dtype=np.float32).flat.dtype == np.float32


def test_streams_are_consecutive_and_targets_are_the_next_characters():
    inputs, targets = C.as_streams(np.arange(100), 4)
    assert inputs.shape == targets.shape == (4, 24)
    assert np.array_equal(targets, inputs + 1) and np.array_equal(inputs.ravel(), np.arange(96))


def test_training_equals_the_same_loop_in_pytorch():
    """Truncation, the carried state, its reset at the end of the streams, clipping and Adam, twelve updates."""
    rng = np.random.default_rng(3)
    ids = rng.integers(0, 5, 201)
    weights = C.initial_weights(5, rng, 8)
    rnn, head = to_torch(weights.network())
    parameters = [rnn.weight_hh_l0, rnn.weight_ih_l0, rnn.bias_ih_l0, head.weight, head.bias]
    rnn.bias_hh_l0.requires_grad_(False)
    optimiser = torch.optim.Adam(parameters, lr=3e-3)
    run = C.train(weights, ids, ids[:50], 12, steps=10, streams=4, check_every=6)
    x, y = (torch.as_tensor(a) for a in C.as_streams(ids, 4))
    state, losses = None, []
    for update in range(12):
        start = update % 5 * 10
        state = None if start == 0 else state.detach()
        states, state = rnn(torch.nn.functional.one_hot(x[:, start:start + 10], 5).double(), state)
        loss = torch.nn.functional.cross_entropy(head(states).flatten(0, 1), y[:, start:start + 10].flatten())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 5.0)
        optimiser.step()
        losses.append(loss.item())
    assert run.training == pytest.approx([np.mean(losses[:6]), np.mean(losses[6:])], abs=1e-9)
    assert np.abs(run.weights.W_h - rnn.weight_hh_l0.detach().numpy()).max() < 1e-7
    assert run.updates == [6, 12] and len(run.norms) == 12 and run.clipped == 0


def test_the_best_weights_are_those_of_the_lowest_check():
    ids = np.random.default_rng(0).integers(0, 4, 400)       # noise: the validation loss soon rises
    run = C.train(C.initial_weights(4, np.random.default_rng(0), 16), ids[:200], ids[200:], 300, steps=8, streams=4, check_every=20)
    again = mean_loss(run.best, ids[None, 200:-1], ids[None, 201:])[0]
    assert again == pytest.approx(run.best_loss, abs=1e-12) and run.best_update < 300
    assert run.validation[run.updates.index(run.best_update)] == run.best_loss
    assert not np.array_equal(run.best.flat, run.weights.flat)


def test_losses_of_a_text_average_to_its_mean_loss():
    weights, *_ = problem()
    ids = np.random.default_rng(1).integers(0, 7, 60)
    losses = C.text_losses(weights, ids)
    assert losses.shape == (59,) and losses.mean() == pytest.approx(mean_loss(weights, ids[None, :-1], ids[None, 1:])[0], abs=1e-12)


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_one_sampled_stream_equals_the_sampler_of_single_steps(temperature):
    weights, *_ = problem()
    one = generate(weights.network(), 2, 50, temperature, np.random.default_rng(4))
    assert C.sample_streams(weights, 2, 1, 50, temperature, np.random.default_rng(4))[0].tolist() == one


def test_sampled_symbols_have_the_frequencies_of_the_model():
    weights, *_ = problem()
    weights.W_h[:], weights.W_x[:], weights.b[:] = 0, 0, 0   # every step has the same distribution
    drawn = C.sample_streams(weights, 0, 50, 400, 1.0, np.random.default_rng(0))
    expected = np.exp(weights.c) / np.exp(weights.c).sum()
    assert np.abs(np.bincount(drawn.ravel(), minlength=7) / drawn.size - expected).max() < 0.015


def test_bad_input_is_refused():
    ids = np.arange(40) % 5
    weights = C.initial_weights(5, np.random.default_rng(0), 4)
    for call in (lambda: C.initial_weights(0, np.random.default_rng(0)), lambda: C.as_streams(ids, 0), lambda: C.as_streams(ids, 40),
                 lambda: C.train(weights, ids, ids, 4, steps=50, streams=2, check_every=2),
                 lambda: C.train(weights, ids, ids, 4, steps=2, streams=2, check_every=5),
                 lambda: C.sample_streams(weights, 0, 0, 5, 1.0, np.random.default_rng(0))):
        with pytest.raises(ValueError):
            call()
