"""What the status page says of a build."""

import re
from pathlib import Path

from bs4 import BeautifulSoup
from conftest import ROOT

from lessonlib.book.check import PageReport
from lessonlib.book.expected import Measured, Record, coverage, load
from lessonlib.book.pages import Project
from lessonlib.book.status import RATIOS, measured_ratios


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


def test_each_page_with_code_tells_its_seconds_and_no_more_memory_than_binder_has(site: Path) -> None:
    rows = BeautifulSoup((site / "status.html").read_text("utf8"), "html.parser").select("article table tbody tr")
    cells = [[cell.get_text(strip=True) for cell in row.select("td")] for row in rows]
    assert [row[0] for row in cells] == [page.title for page in Project(ROOT).pages() if page.code_cells]
    for page, date, seconds, memory, *_ in cells:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", date) and seconds.isdecimal(), page
        assert memory.isdecimal() and 0 < int(memory) < 1500, (page, memory)


def test_the_page_tells_how_well_its_numbers_are_held(site: Path) -> None:
    """What the built page says is what the records of the book give."""
    records = [record for name in Project(ROOT).page_names() if (record := load(Project(ROOT), name))]
    held = [coverage(record, record) for record in records]
    text = BeautifulSoup((site / "status.html").read_text("utf8"), "html.parser").select_one("article").get_text(" ", strip=True)
    assert f"checked {sum(item.numbers for item in held):,} printed or measured numbers" in text
    assert f"{sum(item.free for item in held)} are free" in text and f"{sum(item.loose for item in held)} of the trained ones" in text
    assert f"and {sum(len(record.claims) for record in records)} claims" in text
