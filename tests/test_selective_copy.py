"""Selective copying: what a row holds, that each network fits the task's shapes, and that training stops when it should."""

import pytest
import torch

from lessonlib.racers import build_with_seed
from lessonlib.selective import SelectiveRecurrence
from lessonlib.selective_copy import CORES, DISTRACTORS, SYMBOLS, CopyNetwork, draw_rows, right_answers, train_copy


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize("steps, kept", [(1, 1), (5, 5), (40, 4)])
def test_a_row_holds_its_symbols_in_order_and_distractors_elsewhere(spread, steps, kept):
    rows = draw_rows(50, steps, kept, generator=seeded(), random_places=spread)
    for ids, answers, places in zip(*rows, strict=True):
        found = [(t, i) for t, i in enumerate(ids.tolist()) if i < SYMBOLS]
        assert [i for _, i in found] == answers.tolist() and [t for t, _ in found] == places.tolist()
    assert rows.ids.max() < SYMBOLS + DISTRACTORS and rows.ids.shape == (50, steps)
    if not spread:
        assert (rows.places == torch.tensor([k * steps // kept for k in range(kept)])).all()


def test_places_and_symbols_are_uniform_and_repeat_with_the_seed():
    rows = draw_rows(20_000, 10, 3, generator=seeded())
    at = torch.bincount(rows.places.flatten(), minlength=10) / 20_000
    assert torch.allclose(at, torch.full((10,), 0.3), atol=0.02)
    assert torch.allclose(torch.bincount(rows.answers.flatten()) / 60_000, torch.full((8,), 1 / 8), atol=0.01)
    assert torch.equal(rows.ids, draw_rows(20_000, 10, 3, generator=seeded()).ids)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("layers", [1, 2])
def test_answers_do_not_depend_on_the_company(core, layers):
    network = build_with_seed(lambda: CopyNetwork(core, 3, layers), 0)
    ids = draw_rows(4, 12, 3, generator=seeded()).ids
    with torch.no_grad():
        logits = network(ids)
        assert logits.shape == (4, 3, SYMBOLS) and torch.allclose(network(ids[:1]), logits[:1], atol=1e-5)


def test_a_stopped_clock_solves_it_by_construction():
    """Where distractors get a step of zero and no drive, the last state does not know how many of them there were."""
    network = build_with_seed(lambda: CopyNetwork("selective", 3), 0)
    layer = network.layers[0]
    assert isinstance(layer, SelectiveRecurrence)
    with torch.no_grad():
        network.embedding.weight[SYMBOLS:] = network.embedding.weight[SYMBOLS]
        direction = network.embedding.weight[SYMBOLS]
        network.embedding.weight[:SYMBOLS] -= torch.outer(network.embedding.weight[:SYMBOLS] @ direction, direction) / direction.square().sum()
        layer.w.copy_(-40 * direction / direction.square().sum())           # Delta about e^-40 on distractors, 1 on symbols
        few, many = (torch.full((1, n), SYMBOLS) for n in (1, 30))
        symbols = torch.tensor([[4, 1, 6]])
        short = torch.cat([few, symbols[:, :1], few, symbols[:, 1:], few], 1)
        long = torch.cat([symbols[:, :1], many, symbols[:, 1:2], few, symbols[:, 2:], many], 1)
        assert torch.allclose(network(short), network(long), atol=1e-5)


def test_training_follows_the_loss_and_stops_once_solved():
    network = build_with_seed(lambda: CopyNetwork("GRU", 1), 0)
    losses = train_copy(network, steps=3, updates=400, generator=seeded(1), solved=0.3)
    assert len(losses) < 400 and sum(losses[-10:]) / 10 < 0.3 < sum(losses[-11:-1]) / 10
    test = draw_rows(200, 3, 1, generator=seeded(2))
    assert right_answers(network, test).double().mean() > 0.9 and right_answers(network, test).shape == (200, 1)


def test_bad_settings_name_the_argument():
    for call, name in ((lambda: draw_rows(0, 5, 1, generator=seeded()), "rows"), (lambda: draw_rows(2, 3, 4, generator=seeded()), "kept"),
                       (lambda: CopyNetwork("RNN", 2), "core"), (lambda: CopyNetwork("GRU", 0), "kept"), (lambda: CopyNetwork("GRU", 2, 0), "layers"),
                       (lambda: CopyNetwork("GRU", 2)(torch.zeros(3, dtype=torch.long)), "ids"),
                       (lambda: train_copy(CopyNetwork("GRU", 2), steps=4, updates=0, generator=seeded()), "updates")):
        with pytest.raises(ValueError, match=name):
            call()
