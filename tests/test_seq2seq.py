"""The encoder-decoder against PyTorch's layers run one sequence at a time, and what must not change its answers."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lessonlib.beam_search import beam_search
from lessonlib.decoding import score
from lessonlib.digit_strings import BOS, EOS, PAD, draw_strings, reversal
from lessonlib.racers import build_with_seed, parameter_count
from lessonlib.reversal import BATCH_SIZE, forced_loss, measure, reverser, training
from lessonlib.seq2seq import EncoderDecoder

BOTH = pytest.mark.parametrize("attention", [False, True])


def small(attention, *, packed=True, seed=3):
    make = lambda: EncoderDecoder(13, 13, embedding_size=5, hidden_size=6, attention=attention, packed=packed).double()  # noqa: E731
    network = build_with_seed(make, seed)
    with torch.no_grad():  # larger weights than at the start, so that differences show
        for parameter in network.parameters():
            parameter.mul_(2)
    return network


def strings(rows=5, shortest=1, longest=7, seed=0, **options):
    return draw_strings(rows, shortest, longest, rng=np.random.default_rng(seed), **options)


def by_hand(network, digits, tokens):
    """Logits for one string, without batch or padding, from the equations."""
    E, cell, W = network.source_embedding.weight, network.decoder, network.output
    annotations, h_n = network.encoder(E[digits][None])
    s = torch.tanh(network.start.weight @ torch.cat([annotations[0, -1, :6], annotations[0, 0, 6:]]) + network.start.bias)
    assert torch.allclose(h_n.flatten(), torch.cat([annotations[0, -1, :6], annotations[0, 0, 6:]]))
    rows = []
    for token in tokens:
        x, a = network.target_embedding.weight[token], []
        if network.attention is not None:
            f = network.attention
            e = torch.stack([f.v_a.weight[0] @ torch.tanh(f.W_a.weight @ s + f.U_a.weight @ h) for h in annotations[0]])
            a = [sum(w * h for w, h in zip(e.exp() / e.exp().sum(), annotations[0], strict=True))]
        z = cell.weight_ih @ torch.cat([x, *a]) + cell.bias_ih
        g = cell.weight_hh @ s + cell.bias_hh
        r, kept = torch.sigmoid(z[:6] + g[:6]), torch.sigmoid(z[6:12] + g[6:12])
        s = (1 - kept) * torch.tanh(z[12:] + r * g[12:]) + kept * s
        rows.append(W.weight @ torch.cat([s, *a]) + W.bias)
    return torch.stack(rows)


@BOTH
def test_teacher_forcing_equals_the_equations_on_each_string_alone(attention):
    network, batch = small(attention), strings()
    logits = network(batch.source, batch.lengths, batch.inputs)
    for b, n in enumerate(batch.lengths.tolist()):
        alone = by_hand(network, batch.source[b, :n], batch.inputs[b, :n + 1])
        assert torch.allclose(logits[b, :n + 1], alone, atol=1e-12, rtol=0)


def test_without_attention_the_decoder_is_a_gru_started_from_the_summary():
    network, batch = small(False), strings()
    gru = nn.GRU(5, 6, batch_first=True, dtype=torch.float64)
    gru.load_state_dict({f"{name}_l0": value for name, value in network.decoder.state_dict().items()})
    states, _ = gru(network.target_embedding(batch.inputs), network.encode(batch.source, batch.lengths).state[None])
    assert torch.allclose(network.output(states), network(batch.source, batch.lengths, batch.inputs), atol=1e-12, rtol=0)


@BOTH
def test_a_squeezed_summary_is_a_start_layer_of_low_rank(attention):
    options = {"embedding_size": 5, "hidden_size": 6, "attention": attention}
    squeezed = build_with_seed(lambda: EncoderDecoder(13, 13, summary_size=2, **options).double(), 3)
    whole = build_with_seed(lambda: EncoderDecoder(13, 13, **options).double(), 4)
    state = {name: value for name, value in squeezed.state_dict().items() if name != "squeeze.weight"}
    whole.load_state_dict(state | {"start.weight": squeezed.start.weight @ squeezed.squeeze.weight})
    batch = strings()
    assert torch.linalg.matrix_rank(whole.start.weight) == 2
    assert torch.allclose(squeezed(*batch[:3]), whole(*batch[:3]), atol=1e-12, rtol=0)


@BOTH
@settings(max_examples=15, deadline=None)
@given(more=st.integers(1, 5), pad=st.integers(0, 12))
def test_more_padding_of_any_token_changes_nothing(attention, more, pad):
    network, batch = small(attention), strings()
    wide = strings(width=7 + more)
    source = torch.where(wide.source == PAD, pad, wide.source)
    logits = network(batch.source, batch.lengths, batch.inputs)
    assert torch.equal(network(source, batch.lengths, batch.inputs), logits)
    if attention:
        weights = network.alignment(source, batch.lengths, batch.inputs)
        assert (weights.sum(-1) - 1).abs().max() < 1e-12
        for row, n in zip(weights, batch.lengths, strict=True):
            assert not row[:, n:].any()  # exactly zero on padding


@BOTH
def test_an_encoder_that_reads_the_padding_gives_other_answers(attention):
    network = small(attention, packed=False)
    batch, wide = strings(), strings(width=10)
    difference = (network(wide.source, batch.lengths, batch.inputs) - network(batch.source, batch.lengths, batch.inputs)).abs()
    assert difference[batch.real].max() > 0.01


@BOTH
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_order_and_the_size_of_a_batch_have_no_say(attention, size):
    network, batch = small(attention), strings(6)
    logits = network(batch.source, batch.lengths, batch.inputs)
    for rows in torch.tensor([3, 1, 5, 0, 2, 4]).split(size):
        part = network(batch.source[rows], batch.lengths[rows], batch.inputs[rows])
        assert torch.allclose(part, logits[rows], atol=1e-12, rtol=0)


@BOTH
def test_the_decoder_is_causal(attention):
    network, batch = small(attention), strings(4, 6, 6)
    logits = network(batch.source, batch.lengths, batch.inputs)
    for t in range(1, 7):
        changed = batch.inputs.clone()
        changed[:, t] = (changed[:, t] + 1) % 10
        other = network(batch.source, batch.lengths, changed)
        assert torch.equal(other[:, :t], logits[:, :t]) and (other[:, t] - logits[:, t]).abs().max() > 1e-3


@BOTH
def test_free_running_equals_teacher_forcing_on_its_own_words(attention):
    """And with any other inputs the forced answers differ: the answers of free running do not read the targets."""
    network, batch = small(attention), strings(5, 4, 4)
    answers = network.answer(batch.source, batch.lengths, BOS, end=None, max_steps=5)
    inputs = torch.cat([torch.full((5, 1), BOS), answers.tokens[:, :-1]], 1)
    logits = network(batch.source, batch.lengths, inputs)
    assert torch.equal(logits.argmax(-1), answers.tokens)
    log_probs = logits.log_softmax(-1).gather(2, answers.tokens[:, :, None]).sum((1, 2))
    assert torch.allclose(answers.log_probs, log_probs, atol=1e-12, rtol=0)
    found = measure(network, batch)
    spoiled = batch._replace(inputs=(batch.inputs + 1) % 10)
    assert measure(network, spoiled)[0:3:2] == found[0:3:2] and torch.equal(measure(network, spoiled)[4], found[4])


@BOTH
def test_beams_of_a_network_do_not_depend_on_the_batch(attention):
    network, batch = small(attention), strings(6)
    def search(rows):
        memory = network.encode(batch.source[rows], batch.lengths[rows])
        return beam_search(network.step, memory, torch.full((len(rows),), BOS), end=EOS, beam_size=3, max_steps=6, n_best=2)
    whole = search(torch.arange(6))
    memory = network.encode(batch.source, batch.lengths)
    own = score(network.step, memory, torch.full((6,), BOS), whole.best.tokens, whole.best.lengths)
    assert torch.allclose(own, whole.best.log_probs, atol=1e-12, rtol=0)
    for rows in torch.arange(6).split(2):
        part = search(rows)
        assert torch.equal(part.tokens, whole.tokens[rows][..., :part.tokens.shape[2]])
        assert torch.allclose(part.scores, whole.scores[rows], atol=1e-12, rtol=0)


@BOTH
def test_gradients_agree_with_finite_differences(attention):
    network, batch = small(attention), strings(3)
    forced_loss(network, batch).backward()
    draw, step = torch.Generator().manual_seed(1), 1e-6
    for name, parameter in network.named_parameters():
        direction = torch.randn(parameter.shape, generator=draw, dtype=torch.float64)
        with torch.no_grad():
            parameter.add_(step * direction)
            above = forced_loss(network, batch)
            parameter.sub_(2 * step * direction)
            below = forced_loss(network, batch)
            parameter.add_(step * direction)
        numeric, exact = (above - below) / (2 * step), (parameter.grad * direction).sum()
        assert torch.allclose(numeric, exact, rtol=1e-5, atol=1e-9), name
        assert parameter.grad.abs().max() > 1e-6, name


def test_sizes_of_the_protocol():
    plain, attending = reverser(0), reverser(0, attention=True)
    assert [parameter_count(n) for n in (plain, attending)] == [66_381, 104_973]
    assert [parameter_count(n.decoder) for n in (plain, attending)] == [18_816, 43_392]
    assert parameter_count(attending.attention) == 12_352
    assert torch.equal(plain.encoder.weight_hh_l0, attending.encoder.weight_hh_l0)  # drawn in one order


@BOTH
def test_training_learns_a_few_strings_by_heart_and_repeats_itself(attention):
    class Fixed:  # a generator that draws the same eight short strings at every call
        def integers(self, *args, **options):
            return np.random.default_rng(0 if "size" in options and options["size"] == BATCH_SIZE else 1).integers(*args, **options)
    runs = [training(reverser(1, attention=attention), Fixed(), shortest=1, longest=2) for _ in range(2)]
    losses = [next(runs[0]) for _ in range(25)]
    assert losses[:3] == [next(runs[1]) for _ in range(3)]
    assert losses[0] == pytest.approx(np.log(13), abs=0.2) and losses[-1] < 1.0


def test_accuracy_counts_whole_strings_and_tokens():
    class Told:  # answers "1 2 end" whatever it is asked, and when helped "3" at the second place
        def __call__(self, source, lengths, inputs):
            return torch.nn.functional.one_hot(torch.tensor([1, 3, EOS]), 13).double().repeat(len(source), 1, 1)
        def answer(self, source, lengths, start, *, end, max_steps):
            assert start == BOS and end is None and max_steps == 3
            return type("Answer", (), {"tokens": torch.tensor([1, 2, EOS]).repeat(len(source), 1)})
    found = measure(Told(), reversal([[2, 1], [3, 1], [5, 5], [3, 5]], width=4))
    assert found.whole == 0.25 and found.free == pytest.approx(7 / 12) and found.forced == pytest.approx(8 / 12)
    assert found.forced_by_position.tolist() == [0.5, 0.5, 1] and found.free_by_position.tolist() == [0.5, 0.25, 1]
    with pytest.raises(ValueError, match="lengths"):
        measure(Told(), reversal([[1], [1, 2]]))


@pytest.mark.parametrize("name, call", [
    ("source", lambda: small(False).encode(torch.zeros(2, 3, 1).long(), torch.tensor([1, 2]))),
    ("source", lambda: small(False).encode(torch.zeros(2, 3).long(), torch.tensor([1]))),
    ("lengths", lambda: small(True).encode(torch.zeros(2, 3).long(), torch.tensor([1, 4]))),
    ("attention", lambda: small(False).alignment(*strings()[:3])),
    ("hidden_size", lambda: EncoderDecoder(3, 3, hidden_size=0)), ("source_size", lambda: EncoderDecoder(0, 3)),
    ("summary_size", lambda: EncoderDecoder(3, 3, summary_size=0))])
def test_bad_input_names_the_argument(name, call):
    with pytest.raises(ValueError, match=name):
        call()
