"""Does the book hold? Everything that a build must find true before it replaces the site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lessonlib.book import ledger, lint
from lessonlib.book.execute import Results
from lessonlib.book.expected import Failure, Record, claims, coverage, differences, load, observed, record_path
from lessonlib.book.memory import remembered
from lessonlib.book.pages import Page
from lessonlib.book.quote import quoted


@dataclass
class PageReport:
    """What was checked on a page."""

    name: str
    record: Record
    failures: list[Failure]
    numbers: int = 0
    worst: float = 0.0  # largest drift, as a share of its tolerance
    claims: list[str] = field(default_factory=list)


def check_page(results: Results, page: Page) -> PageReport:
    """Compare a page's last run with its record, and its prose with the rules for numbers."""
    path = record_path(results.project, page.name, results.profile)
    state = (page.text, results.ran(page), path.read_bytes() if path.is_file() else None)
    found = remembered("check", page.name, state, lambda: compared(results, page))
    return replace(found, failures=[*found.failures])  # the caller adds what it finds between pages


def compared(results: Results, page: Page) -> PageReport:
    notebook = results.notebook(page)
    record, failures = observed(page, notebook)
    report = PageReport(page.name, record, failures, claims=claims(notebook))
    recorded = load(results.project, page.name, results.profile)
    report.failures += differences(page.name, recorded, record)
    if recorded:
        report.numbers, report.worst = coverage(recorded, record)
    report.failures += [Failure(page.name, None, f"line {item.line}: {item.found}: {item.why}")
                        for item in lint.lint(page.text) + lint.banned_words(page.text)]
    report.failures += undescribed(page, notebook)
    return report


def undescribed(page: Page, notebook: Any) -> list[Failure]:
    """Images without a description; `lessonlib.figures.show` and `lessonlib.explorers.explorer` give them one."""
    return [Failure(page.name, cell.metadata.get("name"), "this cell shows an image without a description; show it with "
                    "lessonlib.figures.show(fig, alt=...)")
            for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
            if any(mime.startswith("image/") for mime in output.get("data", {}))]


def misquoted(page: Page, measurements: dict[str, Any]) -> list[Failure]:
    """Quotations in prose of what was not measured, or that cannot be formatted so."""
    failures = []
    for item in lint.quotes(page.text):
        try:
            quoted(measurements, f"{item.target}:{item.spec}")
        except ValueError as error:
            failures.append(Failure(page.name, None, f"line {item.line}: {error}"))
    return failures


def check(results: Results, names: Sequence[str] | None = None) -> list[PageReport]:
    """Check pages (all by default). What spans pages is checked where all pages have results.

    Raises
    ------
    BookError
        If one of the named pages was not executed since it changed.
    """
    pages = results.project.pages()
    chosen = [page for page in pages if not names or page.name in names]
    reports = {page.name: check_page(results, page) for page in chosen}
    if not all(results.has(page) for page in pages):
        return list(reports.values())
    measurements: dict[str, Any] = {}
    for page in pages:
        record = reports[page.name].record if page.name in reports else observed(page, results.notebook(page))[0]
        for name, item in record.measurements.items():
            if name in measurements and page.name in reports:
                reports[page.name].failures.append(
                    Failure(page.name, item.cell, f"the measurement {name} is recorded on another page too; rename one"))
            measurements[name] = item.value
    for page in chosen:
        reports[page.name].failures += misquoted(page, measurements)
    reports_list = list(reports.values())
    if results.profile == "default" and not names:
        reports_list.append(check_ledger(results, measurements))
    return reports_list


def check_ledger(results: Results, measurements: dict[str, Any]) -> PageReport:
    """Is each figure of the sources that belongs to a page of the book tied to a measurement, or explained?"""
    entries = ledger.load(results.project.expected / "sources.yml")
    errors = ledger.ledger_errors(entries, measurements, results.project.page_names())
    return PageReport("tests/expected/sources.yml", Record(), [Failure("tests/expected/sources.yml", None, text) for text in errors])
