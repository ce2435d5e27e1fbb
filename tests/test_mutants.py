"""Change a constant that a page prints, and the check names page, cell and number. Thirty times."""

from __future__ import annotations

import multiprocessing
import re
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


NETWORK, GRADIENTS, RACE, READING = "02-recurrent-network", "04-vanishing-gradients", "lab-08-race", "reading-this-book"
MUTANTS = [
    # weights, inputs, seeds, sizes and settings of the chapter on the network
    Mutant(NETWORK, "W_h=[[0.8, -0.4]", "W_h=[[0.8, -0.5]"),
    Mutant(NETWORK, "b=[0.1, 0.0]", "b=[0.2, 0.0]"),
    Mutant(NETWORK, "other[0, 4] += 1.0", "other[0, 5] += 1.0"),
    Mutant(NETWORK, "(8, 64), (37, 128)]", "(8, 65), (37, 128)]"),
    Mutant(NETWORK, "parameter_counts(37, 128, 37)", "parameter_counts(37, 128, 36)"),
    Mutant(NETWORK, "rng=np.random.default_rng(3))", "rng=np.random.default_rng(5))"),
    Mutant(NETWORK, "T in (10, 40, 80)", "T in (10, 40, 79)"),
    Mutant(NETWORK, "factor = 2.0 * (1 - latch**2)", "factor = 2.1 * (1 - latch**2)"),
    Mutant(NETWORK, "(-1.85, -1.98)", "(-1.86, -1.98)"),
    Mutant(NETWORK, "W_x=[[0.9, -0.9, 0]", "W_x=[[0.8, -0.9, 0]"),
    Mutant(NETWORK, "seed=12)", "seed=13)"),
    Mutant(NETWORK, '(0.5, "half")', '(0.51, "half")'),
    Mutant(NETWORK, "for seed in range(20):", "for seed in range(21):"),
    Mutant(NETWORK, "rng.normal(0, 0.01, size=(37, 128))", "rng.normal(0, 0.02, size=(37, 128))"),
    Mutant(NETWORK, "softmax([2.0, 1.0, 0.0]), np.random.default_rng(2)", "softmax([2.0, 1.0, 0.0]), np.random.default_rng(4)"),
    # the same, of the chapter on gradients
    Mutant(GRADIENTS, "factors, lags = [0.5, 0.9, 0.99", "factors, lags = [0.5, 0.9, 0.98"),
    Mutant(GRADIENTS, "W_h = np.array([[0.8, 0.3], [0.3, 0.8]])", "W_h = np.array([[0.8, 0.2], [0.3, 0.8]])"),
    Mutant(GRADIENTS, "A = np.array([[0.9, 5.0]", "A = np.array([[0.9, 5.1]"),
    Mutant(GRADIENTS, '"1-weak": (1.0, 0.1)', '"1-weak": (1.0, 0.11)'),
    Mutant(GRADIENTS, "draws=100):", "draws=50):"),
    Mutant(GRADIENTS, "start, rate, limit = 1.25, 0.05, 1.0", "start, rate, limit = 1.25, 0.06, 1.0"),
    Mutant(GRADIENTS, "by_norm = record(\"grad-clip-norm\", clip_by_norm(g, 5))", "by_norm = record(\"grad-clip-norm\", clip_by_norm(g, 6))"),
    Mutant(GRADIENTS, "gains = [0.5, 0.9, 1.0, 1.2, 1.5]", "gains = [0.5, 0.9, 1.0, 1.3, 1.5]"),
    # the library under both
    Mutant(NETWORK, "bound = 1 / np.sqrt(hidden_size)", "bound = 1.1 / np.sqrt(hidden_size)", "lessonlib/recurrent.py"),
    Mutant(GRADIENTS, "rho * np.sqrt(weights @ slopes**2)", "rho * np.sqrt(weights @ slopes**2.1)", "lessonlib/gradients.py"),
    # the front matter
    Mutant("index", 'record("index-positions", 256)', 'record("index-positions", 255)'),
    Mutant(READING, "hidden_size=16)", "hidden_size=17)"),
    Mutant(READING, "np.tanh(0.9 * h + 0.5)", "np.tanh(0.9 * h + 0.51)"),
    Mutant(READING, "lr=0.03", "lr=0.05"),
    # the race: its data, its sizes, its training
    Mutant(RACE, "task = copy_task(16, 4096, 32, generator=seeded(11))", "task = copy_task(16, 4096, 32, generator=seeded(12))"),
    Mutant(RACE, "build_with_seed(GRURacer, 11)", "build_with_seed(GRURacer, 12)"),
    Mutant(RACE, "LEARNING_RATE = 3e-3", "LEARNING_RATE = 2e-3", "lessonlib/training.py"),
    Mutant(RACE, "MAX_NORM = 1.0", "MAX_NORM = 0.5", "lessonlib/training.py"),
]


# A setting that a `printed` cell prints, changed by one unit of its last digit: the class allows just that much.
ALLOWED = {f"{NETWORK}: (-1.85, -1.98) -> (-1.86, -1.98)"}


class Caught(Exception):
    """The check found a number that moved."""


def failures_of(page: Page, recorded: Record, cell: nbformat.NotebookNode) -> list[Failure]:
    """What the check says of one executed cell."""
    got, faults = observed(page, nbformat.v4.new_notebook(cells=[cell]))
    own = Record({name: item for name, item in recorded.cells.items() if name in got.cells},
                 {name: item for name, item in recorded.measurements.items() if item.cell in got.cells},
                 [sentence for sentence in recorded.claims if sentence in got.claims])
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


@pytest.mark.alone
def test_every_changed_constant_is_caught_and_named() -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, context) as pool:
        first = sorted(MUTANTS, key=lambda mutant: load(PROJECT, mutant.page).seconds, reverse=True)  # the longest pages
        said = dict(zip(first, pool.map(first_failure, first), strict=True))
    escaped = [str(mutant) for mutant, text in said.items() if not text]
    by_number = [text for text in said.values() if re.search(r"^(measurement \S+: )?recorded {3}.+ {3}got {3}", text, re.MULTILINE)]
    denied = [text for text in said.values() if "FalseClaim" in text]
    for mutant, text in said.items():
        print(f"{mutant}\n  {text.splitlines()[0] if text else 'NOT CAUGHT'}")
        assert not text or text.startswith(f"{mutant.page}, cell "), text
    print(f"{len(MUTANTS) - len(escaped)} of {len(MUTANTS)} changes caught, {len(by_number)} by what was recorded, {len(denied)} by a claim")
    assert set(escaped) == ALLOWED
    assert len(by_number) + len(denied) >= 30  # a page that only breaks is not counted


@pytest.mark.parametrize("page", sorted({mutant.page for mutant in MUTANTS}))
def test_the_unchanged_page_raises_no_alarm(page: str) -> None:
    whole = PROJECT.pages([page])[0]
    recorded = load(PROJECT, page)
    got, faults = observed(whole, Results(PROJECT).notebook(whole))
    assert faults + differences(page, recorded, got) == []
