"""Bands are measured: from runs under other settings, with a margin; and none widens in the change that moves its value."""

from __future__ import annotations

import math

import pytest
import yaml
from conftest import SmallBook

from lessonlib.book.bands import MARGIN, SETTINGS, Spread, formats, round_up, shaped

TRAINED = """
```{code-cell} ipython3
:name: small-train
:tags: [trained]
import torch
from lessonlib.runtime import set_up
set_up(11)
layer = torch.nn.GRU(8, 32, batch_first=True)
optimiser = torch.optim.Adam(layer.parameters(), lr=0.03)
for update in range(60):
    loss = layer(torch.randn(16, 20, 8))[0].square().mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
record("small-loss", loss)
print(f"after {update + 1} updates: {1e6 * loss.item():.6f} millionths")
```
"""


def test_a_band_is_the_margin_times_the_largest_deviation() -> None:
    spread = Spread([0.5, 7.0], [[0.52, 7.0], [0.47, 9.0]], ["2 decimals", None])
    assert spread.bands() == [pytest.approx(MARGIN * 0.03, rel=0.12), MARGIN * 2]


def test_a_fraction_that_stood_still_by_chance_moves_as_its_neighbours_do() -> None:
    moved = [[0.53, 0.64, 0.75, 0.80, 3.0]]
    spread = Spread([0.5, 0.6, 0.7, 0.80, 3.0], moved, ["2 decimals"] * 4 + [None])
    assert spread.bands()[3] == round_up(MARGIN * 0.035) and spread.bands()[4] == 0


def test_one_that_moves_does_not_widen_the_many_that_stand() -> None:
    spread = Spread([0.5, 0.6, 0.7], [[0.9, 0.6, 0.7]], ["2 decimals"] * 3)
    assert spread.bands()[1:] == [0.0, 0.0]


@pytest.mark.parametrize(("value", "up"), [(0.0, 0.0), (0.0301, 0.04), (0.03, 0.03), (12.0, 20.0), (math.inf, math.inf)])
def test_bands_are_rounded_up(value: float, up: float) -> None:
    assert round_up(value) == up


def test_formats_tell_counts_from_fractions() -> None:
    assert formats("3 of 10: 0.25, 12.5 % and 1.0e-3") == [None, None, "2 decimals", "1 decimals", "1 decimals, power of ten"]


def test_bands_take_the_shape_of_their_measurement() -> None:
    assert shaped([1, [0.5, "word"], True], [1.0, 2.0]) == [1.0, [2.0, 0.0], 0.0]


def test_settings_change_only_the_environment() -> None:
    assert len(SETTINGS) >= 4 and all(isinstance(value, str) for setting in SETTINGS.values() for value in setting.values())


def test_bands_are_measured_recorded_and_then_held(book: SmallBook) -> None:
    """One run a setting, on a page that trains; then the unchanged page raises no alarm under any of them."""
    book.page.write_text(book.page.read_text() + TRAINED)
    assert book.press("accept", "index").status == 0
    before = yaml.safe_load((book.root / "tests" / "expected" / "index.yml").read_text())
    assert "band" not in before["measurements"]["small-loss"]
    book.press("bands", "index", "--under", "scalar", "--under", "compatible")
    assert book.press("accept", "index").status == 0
    after = yaml.safe_load((book.root / "tests" / "expected" / "index.yml").read_text())
    assert after["bands_from"] == f"{MARGIN} times the largest deviation under the settings scalar, compatible"
    assert 0 < after["measurements"]["small-loss"]["band"] < 0.1 * after["measurements"]["small-loss"]["value"]
    run = book.press("bands", "index", "--under", "scalar", "--under", "compatible")
    assert run.status == 0 and "index under scalar: 0 false alarms" in run.output, run.output


def test_a_band_does_not_widen_in_the_change_that_moves_its_value(book: SmallBook) -> None:
    """The page trains twice as fast, so its loss is another; its new band is wider than the old one."""
    book.page.write_text(book.page.read_text() + TRAINED)
    assert book.press("accept", "index").status == 0
    path = book.root / "tests" / "expected" / "index.yml"
    record = yaml.safe_load(path.read_text())
    record["measurements"]["small-loss"]["band"] = 1e-30
    path.write_text(yaml.safe_dump(record, sort_keys=False))
    book.replace("lr=0.03", "lr=0.06")
    book.press("check")
    book.press("bands", "index", "--under", "scalar")
    kept = path.read_text()
    run = book.press("accept", "index")
    assert run.status == 1 and "small-loss moved out of its band" in run.output, run.output
    assert path.read_text() == kept


def test_a_band_of_a_cell_that_prints_more_numbers_now_is_dropped(book: SmallBook) -> None:
    book.page.write_text(book.page.read_text() + TRAINED)
    assert book.press("accept", "index").status == 0
    path = book.root / "tests" / "expected" / "index.yml"
    record = yaml.safe_load(path.read_text())
    record["cells"]["small-train"]["bands"] = [0.0, 0.5]
    path.write_text(yaml.safe_dump(record, sort_keys=False))
    book.replace("millionths", "millionths, width {32}")
    assert book.press("accept", "index").status == 0
    assert "bands" not in yaml.safe_load(path.read_text())["cells"]["small-train"]
    assert book.press("check").status == 0
