"""What the status page says of a build."""

from lessonlib.book.check import PageReport
from lessonlib.book.expected import Measured, Record, load
from lessonlib.book.pages import Project
from lessonlib.book.status import RATIOS, measured_ratios
from conftest import ROOT


def report(**measurements: Measured) -> dict[str, PageReport]:
    return {"a-lab": PageReport("a-lab", Record(measurements={name.replace("_", "-"): item for name, item in measurements.items()}), [])}


def test_a_measured_ratio_is_shown_with_its_page() -> None:
    line, blank = measured_ratios(report(recall_ratios=Measured("a-cell", "timing", [2.84, 3.05, 7.0])))
    assert "plain RNN, GRU and LSTM: 2.8, 3.0, 7.0." in line and "{doc}`a-lab`" in line and not blank


def test_a_book_without_these_pages_shows_no_ratio() -> None:
    assert measured_ratios({}) == [] == measured_ratios(report(other=Measured("a-cell", "timing", [1.0])))


def test_a_ratio_is_recorded_as_a_timing_and_on_one_page_at_most() -> None:
    records = [load(Project(ROOT), name, "default") for name in Project(ROOT).page_names()]
    for name in RATIOS:
        found = [record.measurements[name] for record in records if record and name in record.measurements]
        assert [item.kind for item in found] == ["timing"][:len(found)], name
