"""How far numbers move when nothing that matters changes: the measured width of `trained` bands.

A page runs again under other instruction sets, other paths through the matrix library and another
thread count, which stand for other machines. The spread of a number over these runs, with a margin,
is its band. A few runs may leave a number where it was by chance; so a fraction moves at least as far
as half of its neighbours do, those that the same cell prints in the same format. A whole number may be
a setting or a count, and has its own spread alone. The spread over seeds is another thing, a result,
and is printed as one.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lessonlib.book import run
from lessonlib.book.compare import Number, tokens
from lessonlib.book.execute import Results, run_locally, write_whole
from lessonlib.book.expected import Record, differences, load, load_file, observed
from lessonlib.book.pages import BookError, Page
from lessonlib.book.progress import Progress

SCALAR = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
          "OPENBLAS_CORETYPE": "Nehalem"}
COMPATIBLE = {"MKL_CBWR": "COMPATIBLE", "OPENBLAS_CORETYPE": "Sandybridge"}
# On a machine whose own setting is AVX2, as those of AMD are, `avx2` changes nothing; the others change rounding everywhere.
SETTINGS: dict[str, dict[str, str]] = {
    "scalar": SCALAR,
    "compatible": COMPATIBLE,
    "scalar compatible": SCALAR | COMPATIBLE,
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
             "OPENBLAS_CORETYPE": "Haswell"},
    "two threads": {"LESSONLIB_THREADS": "2", "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
}
MARGIN = 3  # a band is so many times the largest deviation seen under the settings


@dataclass(frozen=True)
class Spread:
    """Where the numbers of one trained cell, or one measurement, went under the settings.

    `formats` tells which numbers are neighbours; it is None for whole numbers, which have none.
    """

    reference: list[float]
    runs: list[list[float]]
    formats: list[str | None]

    def deviations(self) -> list[float]:
        """The largest distance of each number from its reference."""
        return [max((abs(run[index] - value) for run in self.runs), default=0.0) for index, value in enumerate(self.reference)]

    def bands(self) -> list[float]:
        """A band for each number: the margin times its deviation, or its neighbours' median one; rounded up to one digit."""
        own = self.deviations()
        shared = {kind: statistics.median([move for move, other in zip(own, self.formats, strict=True) if other == kind and math.isfinite(move)]
                                          or [0.0]) for kind in {*self.formats} - {None}}
        return [round_up(MARGIN * max(move, shared.get(kind, 0.0))) for move, kind in zip(own, self.formats, strict=True)]


def round_up(value: float) -> float:
    """The next number with one significant digit that is not below a non-negative value."""
    if value == 0 or not math.isfinite(value):
        return value
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{math.ceil(value / power - 1e-9) * power:.0e}")


def numbers(text: str) -> list[float]:
    return [float(token.value) for token in tokens(text) if isinstance(token, Number)]


def formats(text: str) -> list[str | None]:
    """How each number of a text is written; None for whole numbers."""
    return [None if token.is_integer else f"{token.decimals} decimals{'' if token.exponent is None else ', power of ten'}"
            for token in tokens(text) if isinstance(token, Number)]


def leaves(value: Any) -> list[int | float]:
    """The numbers of a measurement, nested lists in order; texts and truth values have none."""
    if isinstance(value, list):
        return [number for item in value for number in leaves(item)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def flat(value: Any) -> list[float]:
    """The same as floats."""
    return [float(number) for number in leaves(value)]


def shaped(like: Any, values: list[float]) -> Any:
    """Numbers put back into the nesting of a measurement; `values` is used up from the front."""
    if isinstance(like, list):
        return [shaped(item, values) for item in like]
    return values.pop(0) if isinstance(like, (int, float)) and not isinstance(like, bool) else 0.0


def run_under_settings(results: Results, page: Page, under: Sequence[str], workers: int | None) -> dict[str, Results]:
    """Run a page under the named settings (two at a time); each setting's results are kept like any other."""
    by_setting = {name: Results(results.project, results.profile, SETTINGS[name]) for name in under}
    todo = {f"{page.name} [{name}]": other for name, other in by_setting.items() if not other.has(page)}
    jobs = [run.Job(**{**vars(other.job(page)), "name": label}) for label, other in todo.items()]
    failures = []
    if jobs:
        with Progress(dict.fromkeys(todo), print) as progress:
            for outcome in run_locally(jobs, workers or 2, progress):
                progress.done(outcome.name, outcome.seconds, outcome.failure)
                if outcome.failure:
                    failures.append(f"{outcome.name}: {outcome.failure}")
                else:
                    todo[outcome.name].keep(page, outcome)
    if failures:
        raise BookError("\n\n".join(failures))
    return by_setting


def spreads(reference: Record, others: Sequence[Record]) -> tuple[dict[str, Spread], dict[str, Spread]]:
    """The spread of each trained cell and each trained measurement of a page."""
    cells = {name: Spread(numbers(cell.text), [numbers(other.cells[name].text) for other in others], formats(cell.text))
             for name, cell in reference.cells.items() if cell.kind == "trained" and cell.text}
    measured = {name: Spread(flat(item.value), [flat(other.measurements[name].value) for other in others],
                             [None if isinstance(number, int) else "fraction" for number in leaves(item.value)])
                for name, item in reference.measurements.items() if item.kind == "trained"}
    for name, spread in {**cells, **measured}.items():
        if any(len(numbers) != len(spread.reference) for numbers in spread.runs):
            raise BookError(f"{name} has another count of numbers under some setting; print the same lines at every outcome")
    return cells, measured


def bands(results: Results, names: Sequence[str], under: Sequence[str] | None = None, elsewhere: Path | None = None, *,
          workers: int | None = None, say: Callable[[str], None] = print) -> None:
    """Measure the bands of pages, leave them for `accept`, and check that no setting raises a false alarm.

    `elsewhere` is a folder of recorded numbers that another machine's `accept` wrote; each page's file there counts as one more run.

    Raises
    ------
    BookError
        If a page's recorded numbers do not hold under one of the settings.
    """
    alarms, under = [], under or ([] if elsewhere else list(SETTINGS))
    for page in results.project.pages(list(names)):
        reference, _ = observed(page, results.notebook(page))
        others = {name: observed(page, other.notebook(page))[0]
                  for name, other in run_under_settings(results, page, under, workers).items()}
        if elsewhere:
            others["another machine"] = load_file(elsewhere / f"{page.name}.yml")
        cells, measured = spreads(reference, list(others.values()))
        for name, spread in {**cells, **measured}.items():
            say(f"{page.name} {name}: {len(spread.reference)} numbers, largest deviation {max(spread.deviations(), default=0.0):.3g}")
        how = f"{MARGIN} times the largest deviation under the settings {', '.join(others)}"
        found = {"key": results.key(page), "how": how, "cells": {name: spread.bands() for name, spread in cells.items()},
                 "measurements": {name: shaped(reference.measurements[name].value, spread.bands())
                                  for name, spread in measured.items()}}
        write_whole(bands_path(results, page), yaml.safe_dump(found, sort_keys=False))
        recorded = load(results.project, page.name, results.profile)
        for setting, other in others.items():
            failures = differences(page.name, recorded, other) if recorded else []
            alarms += [f"under {setting}: {failure}" for failure in failures]
            say(f"{page.name} under {setting}: {len(failures)} false alarms" if recorded else f"{page.name} under {setting}: ran")
    if alarms:
        raise BookError("\n\n".join(alarms) + "\n\nto record the bands measured now: python -m lessonlib.book accept PAGE")


def bands_path(results: Results, page: Page) -> Any:
    return results.project.build / "bands" / f"{page.name}-{results.profile}.yml"


def measured_bands(results: Results, page: Page) -> dict[str, Any] | None:
    """The bands that `bands` measured for this page as it is now, or None."""
    path = bands_path(results, page)
    found = yaml.safe_load(path.read_text("utf8")) if path.is_file() else None
    return found if found and found["key"] == results.key(page) else None
