"""How far each number of the book has moved from its record, within its tolerance or beyond: for a look at new packages."""

from __future__ import annotations

from collections.abc import Sequence

from lessonlib.book.execute import Results
from lessonlib.book.expected import coverage, drifts, load, observed


def table(results: Results, names: Sequence[str]) -> str:
    """A Markdown table for each page: every number that moved, the one that uses up most of its tolerance first.

    Parameters
    ----------
    results : Results
        Of pages that have run; the others are named as such.
    names : sequence of str
        Pages; all if empty.
    """
    lines: list[str] = []
    for page in results.project.pages(list(names)):
        recorded = load(results.project, page.name, results.profile)
        if not page.code_cells or recorded is None:
            continue
        lines += [f"## {page.name}", ""]
        if not results.has(page):
            lines += ["This page did not run.", ""]
            continue
        got, _ = observed(page, results.notebook(page))
        moved = sorted(drifts(recorded, got, least=0.0), key=lambda item: -item[2].size)
        beyond = sum(item[2].size > 1 for item in moved)
        lines += [f"{coverage(recorded, got).numbers:,} numbers, {len(moved):,} moved, {beyond:,} beyond their tolerance.", ""]
        if moved:
            lines += ["| cell | number | recorded | got | tolerance | tolerances away |", "| --- | --- | ---: | ---: | --- | ---: |"]
            lines += [f"| {cell} | {f'{name}{drift.text}' if name else f'line {drift.line}'} | {shown(drift.recorded)} | {shown(drift.got)} "
                      f"| {drift.tolerance} | {drift.size:.2g} |" for cell, name, drift in moved] + [""]
    return "\n".join(lines)


def shown(text: str) -> str:
    """A value in a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")
