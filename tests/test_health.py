"""The probes find the fault that they are for, and pass a model without it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from lessonlib.drawings_health import QUESTIONS, draw_triage
from lessonlib.health import company_gap, future_gap, order_gap, padding_gap
from lessonlib.packing import last_state

LENGTHS = torch.tensor([3, 7, 5])


def batch(seed: int = 0) -> Tensor:
    x = torch.randn(3, 7, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return x * (torch.arange(7)[None, :, None] < LENGTHS[:, None, None])


def layer(**options: bool) -> nn.GRU:
    torch.manual_seed(1)
    return nn.GRU(2, 6, batch_first=True, dtype=torch.float64, **options)


def good(x: Tensor, lengths: Tensor) -> Tensor:
    return last_state(layer()(x)[0], lengths)


def last_column(x: Tensor, lengths: Tensor) -> Tensor:
    return layer()(x)[0][:, -1]


class Carries:
    """Keeps its state from call to call."""

    def __init__(self) -> None:
        self.state = None

    def __call__(self, x: Tensor, lengths: Tensor) -> Tensor:
        outputs, self.state = layer()(x, self.state)
        return last_state(outputs, lengths)


def test_a_causal_layer_moves_behind_the_change_only() -> None:
    gap = future_gap(lambda x: layer()(x)[0], batch(), 4)
    assert gap[:4].max() == 0 and gap[4:].min() > 1e-3


def test_a_bidirectional_layer_moves_before_it() -> None:
    assert future_gap(lambda x: layer(bidirectional=True)(x)[0], batch(), 4)[:4].min() > 1e-6


def test_the_last_column_depends_on_padding_and_company() -> None:
    assert padding_gap(good, batch(), LENGTHS, 5) == 0 and company_gap(good, batch(), LENGTHS) < 1e-12
    assert padding_gap(last_column, batch(), LENGTHS, 5) > 1e-3 and company_gap(last_column, batch(), LENGTHS) > 1e-3


def test_a_carried_state_depends_on_the_order() -> None:
    batches = [(batch(seed), LENGTHS) for seed in range(3)]
    assert order_gap(good, batches) == 0 and order_gap(Carries(), batches) > 1e-3


@pytest.mark.parametrize(("probe", "words"), [
    (lambda: future_gap(lambda x: x, batch(), 7), "step is 7; it must lie between 1 and 6"),
    (lambda: future_gap(lambda x: x, batch()[0], 2), "shape"),
    (lambda: padding_gap(good, batch() * float("nan"), LENGTHS, 1), "NaN"),
    (lambda: padding_gap(good, batch(), LENGTHS, 0), "extra is 0"),
    (lambda: company_gap(good, batch(), torch.tensor([3, 8, 1])), "from 1 to 7"),
    (lambda: order_gap(good, [(batch(), LENGTHS)]), "two or more"),
])
def test_bad_input_is_refused_by_name(probe: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        probe()


def test_the_drawing_has_every_question() -> None:
    texts = {text.get_text() for text in draw_triage().axes[0].texts}
    assert {part for pair in QUESTIONS for part in pair} <= texts
