"""The racers: sizes by formula, causality, initial weights, and bad input."""

import pytest
import torch
from torch import nn

from lessonlib.racers import (
    GRURacer,
    TransformerRacer,
    build_with_seed,
    gru_racer_size,
    parameter_count,
    transformer_racer_size,
)

RACERS = [lambda: GRURacer(11, 8), lambda: TransformerRacer(11, 8, layers=2, heads=2, context=9)]


def ids(rows: int = 3, steps: int = 9, seed: int = 0) -> torch.Tensor:
    return torch.randint(11, (rows, steps), generator=torch.Generator().manual_seed(seed))


def test_sizes_of_the_race():
    assert parameter_count(GRURacer()) == gru_racer_size(32, 128) == 107_296
    assert parameter_count(TransformerRacer()) == transformer_racer_size(32, 64, 2, 32) == 106_144


@pytest.mark.parametrize(("vocabulary", "width", "layers", "context"), [(5, 4, 1, 3), (40, 12, 3, 64)])
def test_size_formulas(vocabulary, width, layers, context):
    assert parameter_count(GRURacer(vocabulary, width)) == gru_racer_size(vocabulary, width)
    transformer = TransformerRacer(vocabulary, width, layers, heads=2, context=context)
    assert parameter_count(transformer) == transformer_racer_size(vocabulary, width, layers, context)


@pytest.mark.parametrize("make", RACERS)
@pytest.mark.parametrize("training", [True, False])
def test_later_tokens_do_not_change_earlier_outputs(make, training):
    network = build_with_seed(make, 3).double().train(training)
    row = ids(1)
    for t in range(row.shape[1] - 1):
        changed = row.clone()
        changed[:, t + 1] = (changed[:, t + 1] + 1) % 11
        with torch.no_grad():
            difference = (network(row) - network(changed)).abs().amax(-1)[0]
        assert difference[:t + 1].max() < 1e-12
        assert difference[t + 1] > 1e-6


@pytest.mark.parametrize("make", RACERS)
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_rows_do_not_influence_each_other(make, batch):
    network = build_with_seed(make, 3).double()
    together = network(ids(3))[:batch]
    assert torch.allclose(network(ids(3)[:batch]), together, atol=1e-12)
    assert together.shape == (batch, 9, 11)


def test_transformer_equals_attention_written_out():
    """One head, one block, by the equations: softmax(Q K' / sqrt(D) + mask) V, pre-norm, ReLU."""
    network = build_with_seed(lambda: TransformerRacer(11, 8, layers=1, heads=1, context=9), 4).double()
    block, row = network.blocks.layers[0], ids(2)
    x = network.tokens.weight[row] + network.positions.weight
    q, k, v = nn.functional.linear(block.norm1(x), block.self_attn.in_proj_weight, block.self_attn.in_proj_bias).chunk(3, -1)
    scores = (q @ k.transpose(1, 2) / 8 ** 0.5).masked_fill(torch.ones(9, 9).triu(1).bool(), -torch.inf)
    x = x + block.self_attn.out_proj(scores.softmax(-1) @ v)
    x = x + block.linear2(torch.relu(block.linear1(block.norm2(x))))
    assert torch.allclose(network(row), network.readout(x), atol=1e-12)


def test_gru_states_are_read_out():
    network = build_with_seed(RACERS[0], 5)
    assert torch.equal(network(ids()), network.readout(network.states(ids())))


def test_build_with_seed_draws_in_the_stated_order_and_leaves_the_global_generator():
    torch.manual_seed(11)
    embedding = nn.Embedding(32, 128)
    recurrence = nn.GRU(128, 128, batch_first=True)
    torch.manual_seed(5)
    expected_next = torch.rand(3)
    torch.manual_seed(5)
    racer = build_with_seed(GRURacer, 11)
    assert torch.equal(torch.rand(3), expected_next)
    assert torch.equal(racer.embedding.weight, embedding.weight)
    assert torch.equal(racer.recurrence.weight_hh_l0, recurrence.weight_hh_l0)
    with pytest.raises(ValueError, match="seed is -1"):
        build_with_seed(GRURacer, -1)


@pytest.mark.parametrize("make", RACERS)
@pytest.mark.parametrize("shape", [(4,), (2, 0), (1, 2, 3)])
def test_bad_ids(make, shape):
    with pytest.raises(ValueError, match="ids has shape"):
        make()(torch.zeros(shape, dtype=torch.long))


def test_input_longer_than_the_context():
    with pytest.raises(ValueError, match="ids has 10 columns; the position embedding covers 9"):
        RACERS[1]()(ids(2, 10))
