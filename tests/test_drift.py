"""The drift report tells every number that moved, within its tolerance or beyond, and pages that did not run."""

from __future__ import annotations

import pytest
from conftest import SmallBook


@pytest.mark.parametrize(("speed", "status", "words"), [
    ("24.501", 0, ["1 moved, 0 beyond", "| small-speed | small-speed | 24.5 | 24.501 | ±0.01 | 0.1 |"]),
    ("24.6", 1, ["2 moved, 2 beyond", "| small-speed | line 1 | 24.50 | 24.60 | ±0.01 | 10 |"]),
    ("1 / 0", 1, ["This page did not run"]),
])
def test_what_moved_is_told(book: SmallBook, speed: str, status: int, words: list[str]) -> None:
    book.replace("24.5", speed, book.root / "lessonlib" / "constants.py")
    assert book.press("check", "--drift", str(book.root / "drift.md")).status == status
    report = (book.root / "drift.md").read_text()
    assert "## index" in report
    for word in words:
        assert word in report, report
