"""Change a constant that a page prints, and the check names page, cell and number. Thirty times."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import nbformat
import pytest
from conftest import ROOT

from lessonlib.book.execute import Results
from lessonlib.book.expected import Failure, Record, differences, load, observed
from lessonlib.book.pages import Page, Project
from lessonlib.book.run import run_page

PROJECT = Project(ROOT)


@dataclass(frozen=True)
class Mutant:
    """One changed constant: on a page, or in a file of the library that the page imports."""

    page: str
    old: str
    new: str
    file: str | None = None

    def __str__(self) -> str:
        return f"{self.file or self.page}: {self.old} -> {self.new}"


MUTANTS: list[Mutant] = []  # filled below


class Caught(Exception):
    """The check found a number that moved."""


def failures_of(page: Page, recorded: Record, cell: nbformat.NotebookNode) -> list[Failure]:
    """What the check says of one executed cell."""
    got, faults = observed(page, nbformat.v4.new_notebook(cells=[cell]))
    own = Record({name: item for name, item in recorded.cells.items() if name in got.cells},
                 {name: item for name, item in recorded.measurements.items() if item.cell in got.cells})
    return faults + differences(page.name, own, got)


def first_failure(mutant: Mutant) -> str:
    """Run the changed page until the check finds something; what it says, or nothing."""
    page = PROJECT.pages([mutant.page])[0]
    recorded = load(PROJECT, page.name)
    if mutant.file is None:
        assert mutant.old in page.text, mutant
        page = Page(page.name, page.text.replace(mutant.old, mutant.new, 1))
    job = Results(PROJECT).job(page)
    if mutant.file:
        assert mutant.old.encode() in job.files[mutant.file], mutant
        changed = job.files[mutant.file].replace(mutant.old.encode(), mutant.new.encode(), 1)
        job = replace(job, files=job.files | {mutant.file: changed})

    def look(cell: Any) -> None:
        if found := failures_of(page, recorded, cell):
            raise Caught(str(found[0]))

    try:
        outcome = run_page(job, after_cell=look)
    except Caught as caught:
        return str(caught)
    return f"{page.name}, {outcome.failure}" if outcome.failure else ""


def test_every_changed_constant_is_caught_and_named() -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, context) as pool:
        said = dict(zip(MUTANTS, pool.map(first_failure, MUTANTS), strict=True))
    escaped = [str(mutant) for mutant, text in said.items() if not text]
    by_number = [text for text in said.values() if "recorded" in text and "got" in text]
    for mutant, text in said.items():
        print(f"{mutant}\n  {text.splitlines()[0] if text else 'NOT CAUGHT'}")
        assert not text or text.startswith(f"{mutant.page}, cell "), text
    print(f"{len(MUTANTS) - len(escaped)} of {len(MUTANTS)} changes caught, {len(by_number)} by a number, the rest by a claim or a word")
    assert not escaped
    assert len(MUTANTS) >= 30


@pytest.mark.parametrize("page", sorted({mutant.page for mutant in MUTANTS}))
def test_the_unchanged_page_raises_no_alarm(page: str) -> None:
    whole = PROJECT.pages([page])[0]
    recorded = load(PROJECT, page)
    got, faults = observed(whole, Results(PROJECT).notebook(whole))
    assert faults + differences(page, recorded, got) == []
