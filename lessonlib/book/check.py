"""Does the book hold? Everything that a build must find true before it replaces the site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lessonlib.book import ledger, lint
from lessonlib.book.compare import compare
from lessonlib.book.execute import Results
from lessonlib.book.expected import Coverage, Failure, Record, coverage, differences, load, observed, record_path
from lessonlib.book.memory import remembered
from lessonlib.book.pages import Page, Project
from lessonlib.book.quote import parse, quoted


@dataclass
class PageReport:
    """What was checked on a page."""

    name: str
    record: Record
    failures: list[Failure]
    recorded: Record | None = None
    coverage: Coverage = field(default_factory=Coverage)


def check_page(results: Results, page: Page) -> PageReport:
    """Compare a page's last run with its record, and its prose with the rules for numbers."""
    path = record_path(results.project, page.name, results.profile)
    state = (page.text, results.ran(page), path.read_bytes() if path.is_file() else None)
    found = remembered("check", page.name, state, lambda: compared(results, page))
    return replace(found, failures=[*found.failures])  # the caller adds what it finds between pages


def compared(results: Results, page: Page) -> PageReport:
    notebook = results.notebook(page)
    record, failures = observed(page, notebook)
    recorded = load(results.project, page.name, results.profile)
    report = PageReport(page.name, record, failures, recorded)
    report.failures += differences(page.name, recorded, record)
    if recorded:
        report.coverage = coverage(recorded, record)
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


def misquoted(page: Page, measurements: dict[str, Any], printed: dict[str, Any]) -> list[Failure]:
    """Quotations in prose of what was not measured, or that cannot be formatted so.

    `printed` holds the recorded values of that class, of which four digits are compared; a quotation that shows
    more is held to those that it shows.
    """
    failures = []
    for item in lint.quotes(page.text):
        target = f"{item.target}:{item.spec}"
        try:
            text, name = quoted(measurements, target), parse(target)[0]
            if name in printed:
                failures += [Failure(page.name, None, f"line {item.line}: the quotation of {name}: {drift}", drift.size)
                             for drift in compare(quoted(printed, target), text, "printed")]
        except ValueError as error:
            failures.append(Failure(page.name, None, f"line {item.line}: {error}"))
    return failures


def orphans(project: Project, profile: str) -> list[Failure]:
    """Files of recorded numbers whose page is not in the book."""
    known = {record_path(project, name, profile) for name in project.page_names()} | {project.root / ledger.FILE}
    return [Failure(str(path.relative_to(project.root)), None, "holds the numbers of a page that is not in _toc.yml; list the page there, "
                    "or delete the file with it") for path in sorted(record_path(project, "any", profile).parent.glob("*.yml"))
            if path not in known]


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
    printed: dict[str, Any] = {}
    for page in pages:
        report = reports.get(page.name)
        record = report.record if report else observed(page, results.notebook(page))[0]
        recorded = report.recorded if report else load(results.project, page.name, results.profile)
        kept = recorded.measurements if recorded else {}
        for name, item in record.measurements.items():
            if name in measurements and page.name in reports:
                reports[page.name].failures.append(
                    Failure(page.name, item.cell, f"the measurement {name} is recorded on another page too; rename one"))
            measurements[name] = item.value
            if name in kept and item.kind == "printed":
                printed[name] = kept[name].value
    for page in chosen:
        reports[page.name].failures += misquoted(page, measurements, printed)
    reports_list = list(reports.values())
    if results.profile == "default" and not names:
        reports_list.append(check_ledger(results, measurements))
    return reports_list


def check_ledger(results: Results, measurements: dict[str, Any]) -> PageReport:
    """Is each figure of the sources that belongs to a page of the book tied to a measurement, or explained? Has each record a page?"""
    try:
        errors = ledger.ledger_errors(ledger.load(results.project.root / ledger.FILE), measurements, results.project.page_names())
    except ValueError as error:
        errors = str(error).splitlines()
    return PageReport(ledger.FILE, Record(), [Failure(ledger.FILE, None, text) for text in errors] + orphans(results.project, results.profile))
