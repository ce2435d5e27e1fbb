"""Does the book hold? Everything that a build must find true before it replaces the site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lessonlib.book import ledger, lint
from lessonlib.book.compare import compare
from lessonlib.book.execute import Results
from lessonlib.book.expected import Coverage, Failure, Measured, Record, coverage, differences, load, observed, record_path
from lessonlib.book.memory import remembered
from lessonlib.book.pages import Page, Project
from lessonlib.book.quote import parse, quoted

LEDGER = "sources.yml"


@dataclass
class PageReport:
    """What was checked on a page."""

    name: str
    record: Record
    failures: list[Failure]
    coverage: Coverage = field(default_factory=Coverage)


def check_page(results: Results, page: Page) -> PageReport:
    """Compare a page's last run with its record, and its prose with the rules for numbers."""
    found = remembered("check", page.name, (page.text, results.ran(page), recorded_bytes(results, page)), lambda: compared(results, page))
    return replace(found, failures=[*found.failures])  # the caller adds what it finds between pages


def recorded_bytes(results: Results, page: Page) -> bytes | None:
    path = record_path(results.project, page.name, results.profile)
    return path.read_bytes() if path.is_file() else None


def remembered_record(results: Results, page: Page) -> Record | None:
    """The recorded numbers of a page, read once while its file stays as it is."""
    return remembered("record", page.name, recorded_bytes(results, page), lambda: load(results.project, page.name, results.profile))


def compared(results: Results, page: Page) -> PageReport:
    notebook = results.notebook(page)
    record, failures = observed(page, notebook)
    report = PageReport(page.name, record, failures)
    recorded = remembered_record(results, page)
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


def misquoted(page: Page, measurements: dict[str, Measured], recorded: dict[str, Measured]) -> list[Failure]:
    """Quotations in prose of what was not measured, or that cannot be formatted so.

    A `printed` measurement is held to four digits; a quotation that shows more is held to those that it shows.
    """
    now, before = ({name: item.value for name, item in items.items()} for items in (measurements, recorded))
    failures = []
    for item in lint.quotes(page.text):
        target = f"{item.target}:{item.spec}"
        try:
            text = quoted(now, target)
            name = parse(target)[0]
            if name in recorded and measurements[name].kind == "printed":
                failures += [Failure(page.name, None, f"line {item.line}: the quotation of {name}: {drift}", drift.size)
                             for drift in compare(quoted(before, target), text, "printed")]
        except ValueError as error:
            failures.append(Failure(page.name, None, f"line {item.line}: {error}"))
    return failures


def orphans(project: Project, profile: str) -> list[Failure]:
    """Files of recorded numbers whose page is not in the book."""
    known = {record_path(project, name, profile) for name in project.page_names()}
    return [Failure(str(path.relative_to(project.root)), None, "holds the numbers of a page that is not in _toc.yml; list the page there, "
                    "or delete the file with it") for path in sorted(record_path(project, "any", profile).parent.glob("*.yml"))
            if path not in known and path.name != LEDGER]


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
    measurements: dict[str, Measured] = {}
    recorded: dict[str, Measured] = {}
    for page in pages:
        record = reports[page.name].record if page.name in reports else observed(page, results.notebook(page))[0]
        for name, item in record.measurements.items():
            if name in measurements and page.name in reports:
                reports[page.name].failures.append(
                    Failure(page.name, item.cell, f"the measurement {name} is recorded on another page too; rename one"))
            measurements[name] = item
        recorded |= kept.measurements if (kept := remembered_record(results, page)) else {}
    for page in chosen:
        reports[page.name].failures += misquoted(page, measurements, recorded)
    reports_list = list(reports.values())
    if results.profile == "default" and not names:
        reports_list.append(check_ledger(results, {name: item.value for name, item in measurements.items()}))
    return reports_list


def check_ledger(results: Results, measurements: dict[str, Any]) -> PageReport:
    """Is each figure of the sources that belongs to a page of the book tied to a measurement, or explained? Has each record a page?"""
    try:
        errors = ledger.ledger_errors(ledger.load(results.project.expected / LEDGER), measurements, results.project.page_names())
    except ValueError as error:
        errors = str(error).splitlines()
    return PageReport(LEDGER, Record(), [Failure(f"tests/expected/{LEDGER}", None, text) for text in errors] + orphans(results.project, results.profile))
