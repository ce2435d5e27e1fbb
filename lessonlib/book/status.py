"""The status page: when each page ran, what it cost, how many numbers were checked, how far they moved."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence

from lessonlib.book.check import PageReport
from lessonlib.book.execute import Results
from lessonlib.book.pages import environment

PACKAGES = ("jupyter-book", "sphinx", "myst-nb", "nbclient")
RATIOS = {"recall-ratios": "Ten replicas trained together over one single run, seconds of the processor for plain RNN, GRU and LSTM"}


def page(results: Results, checked: Sequence[PageReport]) -> str:
    """The status of a build as MyST text: totals, a row a page, versions, and every claim."""
    pages = results.project.pages()
    reports = {report.name: report for report in checked if report.name in {item.name for item in pages}}
    ran = {item.name: results.notebook(item).metadata.get("lessonlib", {}) for item in pages}
    covered = [report.coverage for report in reports.values()]
    numbers, claims = sum(item.numbers for item in covered), sum(len(report.record.claims) for report in reports.values())
    seconds = sum(run.get("seconds", 0.0) for run in ran.values())
    worst = max(reports.values(), key=lambda report: report.coverage.worst)
    lines = [f"This build checked {numbers:,} printed or measured numbers and {claims} claims on {len(pages)} pages. "
             f"The pages' cells ran for {seconds:,.0f} s in all, one thread each. The largest drift from a recorded number was "
             f"{worst.coverage.worst:.0%} of its tolerance, on the page {{doc}}`{worst.name}`.", "",
             f"Not all of them are held equally well. {sum(item.free for item in covered):,} are free to have any size: times, and what "
             f"stands in samples. {sum(item.loose for item in covered):,} of the trained ones are held loosely: they moved so far under other "
             "roundings that their band is as wide as they are, as a loss near zero does, or a network that learns or not by chance. "
             "What the text draws from these stands in the claims.", "", *page_table(reports, ran), ""]
    lines += measured_ratios(reports)
    versions = dict(environment()) | {name: importlib.metadata.version(name) for name in PACKAGES}
    lines += ["**Versions.** " + ", ".join(f"{name} {version}" for name, version in versions.items()) + ".", ""]
    for report in reports.values():
        if report.record.claims:
            lines += [f"**Claims of** {{doc}}`{report.name}`", ""]
            lines += [f"- {sentence}" for sentence in report.record.claims] + [""]
    return "\n".join(lines)


def page_table(reports: dict[str, PageReport], ran: dict[str, dict]) -> list[str]:
    """A Markdown table with a row for each page that has code."""
    rows = ["| Page | Last run | Seconds | Peak memory, MB | Numbers checked | Free, loose | Claims | Worst drift |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name, report in reports.items():
        if run := ran[name]:
            rows.append(f"| {{doc}}`{name}` | {run['date']} | {run['seconds']:.0f} | {run.get('peak_mb', 'not told')} "
                        f"| {report.coverage.numbers:,} | {report.coverage.free}, {report.coverage.loose} | {len(report.record.claims)} "
                        f"| {report.coverage.worst:.0%} |")
    return rows


def measured_ratios(reports: dict[str, PageReport]) -> list[str]:
    """A line for each ratio of seconds in `RATIOS` that this build measured, with the page whose run it comes from."""
    lines = []
    for name, words in RATIOS.items():
        for page, report in reports.items():
            if measured := report.record.measurements.get(name):
                lines += [f"**Measured ratio.** {words}: {', '.join(f'{ratio:.1f}' for ratio in measured.value)}. "
                          f"It comes from one run on the machine of this build, on the page {{doc}}`{page}`.", ""]
    return lines
