"""The line under a page's title: how long the page takes to read and to run. It is computed, so it follows the page."""

from __future__ import annotations

import math
import re

from lessonlib.book.expected import record_path
from lessonlib.book.lint import CITED, FILLED, prose
from lessonlib.book.pages import Page, Project

WORDS_A_MINUTE = 200
WORDS_A_LINE = 10  # a line of code or of a displayed formula takes as long to read as a line of prose
STEP = 5  # minutes; no reader's pace is known better
WORD = re.compile(rf"\S*[\w{FILLED}{CITED}]\S*")  # what is set in a sentence, such as a formula or a number, is read as a word
FORMULA = re.compile(r"(?ms)^[ \t]*```\{math\}.*?\n(.*?)^[ \t]*```|\$\$(.+?)\$\$")


def code_lines(page: Page) -> int:
    """Lines of code that the page shows unfolded."""
    shown = [cell for cell in page.code_cells if not any(tag.startswith(("hide-", "remove-")) for tag in cell.metadata.get("tags", []))]
    return sum(bool(line.strip()) for cell in shown for line in cell.source.splitlines())


def formula_lines(text: str) -> int:
    """Lines of displayed formulas."""
    lines = [line for match in FORMULA.finditer(text) for line in (match[1] or match[2]).splitlines()]
    return sum(bool(line.strip()) and not line.strip().startswith(":") for line in lines)


def reading_minutes(page: Page) -> int:
    """Minutes to read a page, rounded up to five."""
    words = len(WORD.findall(prose(page.text))) + WORDS_A_LINE * (code_lines(page) + formula_lines(page.text))
    return STEP * max(1, math.ceil(words / WORDS_A_MINUTE / STEP))


def recorded_seconds(project: Project, name: str) -> float | None:
    """How long the cells of a page ran when its numbers were last accepted; None where nothing is recorded."""
    path = record_path(project, name, "default")
    found = re.search(r"(?m)^seconds: ([\d.]+)$", path.read_text("utf8")) if path.is_file() else None
    return float(found[1]) if found else None


def run_time(seconds: float) -> str:
    """Seconds as words that hold on a machine somewhat faster or slower."""
    if seconds < 60:
        return "a few seconds" if seconds < 10 else "less than a minute"
    minutes = round(seconds / 60)
    return f"about {minutes} minute{'s' if minutes > 1 else ''}"


def times(page: Page, seconds: float | None) -> str:
    """What a page says of itself; nothing of its run where it has no code or nothing is recorded."""
    said = f"Reading time: {reading_minutes(page)} minutes."
    return f"{said} Run time when last recorded: {run_time(seconds)} on one core." if page.code_cells and seconds is not None else said
