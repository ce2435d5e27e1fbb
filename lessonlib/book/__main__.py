"""The press: executes the book, checks its numbers, writes its site. See `--help`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lessonlib.book import accept, bands, build, check, drift, execute, notebooks, render, serve
from lessonlib.book.execute import Results
from lessonlib.book.pages import PROFILES, BookError, Project


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m lessonlib.book", description=__doc__)
    top.add_argument("--root", type=Path, default=Path.cwd(), help="folder of the book (the current one)")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, text: str, pages: str | None = "*", cluster: bool = False) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        if pages:
            sub.add_argument("pages", nargs=pages, metavar="PAGE", help="pages by name (all by default)")
            sub.add_argument("--jobs", type=int, help="pages that run at once (as many as there are cores)")
        sub.add_argument("--profile", choices=PROFILES, default=PROFILES[0], help="how much the pages compute")
        if cluster:
            sub.add_argument("--scheduler", metavar="ADDRESS", help="run the pages on this Dask cluster instead")
        return sub

    command("build", "execute what changed, check the numbers, write the site to _build/html", cluster=True)
    command("check", "execute what changed and check the numbers; write no site", cluster=True).add_argument(
        "--drift", type=Path, metavar="FILE", help="write to FILE how far each number moved, within its tolerance or beyond")
    command("accept", "show how the numbers of these pages moved, and record them", "+")
    measured = command("bands", "run pages under settings that may not matter and report how far each number moves", "+")
    measured.add_argument("--under", choices=list(bands.SETTINGS), action="append", help="only this setting (repeat for more; all by default)")
    measured.add_argument("--elsewhere", type=Path, metavar="FOLDER", help="count the numbers recorded in FOLDER, on another machine, as one more run")
    command("serve", "show the site and rebuild it as pages are saved", None).add_argument(
        "--port", type=int, default=8000, help="port on this machine (8000)")
    command("notebooks", "write the pages as notebooks that read well without the site", None).add_argument(
        "folder", type=Path, nargs="?", default=Path("notebooks"), help="where to (notebooks)")
    return top


def run_check(results: Results, names: Sequence[str]) -> list[check.PageReport]:
    """Check, print what was found, and raise where the book does not hold."""
    reports = check.check(results, names)
    failures = [failure for report in reports for failure in report.failures]
    numbers, claims = sum(report.coverage.numbers for report in reports), sum(len(report.record.claims) for report in reports)
    if failures:
        raise BookError("\n\n".join(map(str, failures)) + f"\n\n{len(failures)} failures in {numbers} numbers and {claims} claims")
    print(f"{numbers} numbers and {claims} claims hold")
    return reports


def run_build(results: Results, arguments: argparse.Namespace) -> None:
    """Execute, check and, unless only a check was asked for, write the site."""
    started = time.monotonic()
    if arguments.command == "build":
        render.load_ahead()
    pages = results.project.pages(arguments.pages)
    report = getattr(arguments, "drift", None)
    try:
        ran = execute.execute(results, pages, workers=arguments.jobs, scheduler=arguments.scheduler)
    finally:
        if report:
            report.write_text(drift.table(results, arguments.pages), "utf8")
    print(f"{len(ran)} of {len(pages)} pages executed")
    reports = run_check(results, arguments.pages)
    if arguments.command == "build":
        if arguments.pages:  # the site holds all pages, so all must hold
            execute.execute(results, results.project.pages(), workers=arguments.jobs, scheduler=arguments.scheduler)
            reports = run_check(results, [])
        build.publish(results, reports)
    print(f"done in {time.monotonic() - started:.1f} s")


def work(results: Results, arguments: argparse.Namespace) -> None:
    """Carry out a command that writes in the build folder."""
    if arguments.command == "accept":
        accept.accept(results, arguments.pages, workers=arguments.jobs)
    elif arguments.command == "bands":
        bands.bands(results, arguments.pages, arguments.under, arguments.elsewhere, workers=arguments.jobs)
    else:
        run_build(results, arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0 only if all that was asked for succeeded."""
    arguments = parser().parse_args(argv)
    results = Results(Project(arguments.root.resolve()), arguments.profile)
    try:
        if arguments.command == "serve":
            serve.serve(results, arguments.port)
        elif arguments.command == "notebooks":
            notebooks.write_notebooks(results.project, results, arguments.folder)
        else:
            with execute.alone(results.project):
                work(results, arguments)
    except BookError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; the last good site and the recorded numbers are as they were", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
