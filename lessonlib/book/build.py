"""From executed pages to a site: render with Jupyter Book, and replace the site in one move.

Every build makes a complete new site beside the old one. `_build/html` is a link that is pointed
at the new one when all is done; whatever fails or is killed before leaves the old site as it was.
Sphinx's memory of unchanged pages is kept from the last build that succeeded, and from no other, and
all pages are written again where something changed that pages show of each other: a warning is an
error on a warm build as on a cold one.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import nbformat

from lessonlib.book import notebooks, render, repository, status
from lessonlib.book.check import PageReport
from lessonlib.book.execute import Results, write_whole
from lessonlib.book.extension import ROOT_VARIABLE, STATUS, TOLD
from lessonlib.book.memory import remembered
from lessonlib.book.pages import PROFILE_VARIABLE, BookError, Project
from lessonlib.book.publication import write_archive

SITE, PREVIEW = "html", "preview"  # in the build folder
MARK = ".made-from"  # in a site and in the doctrees kept with it: the digest of what they are made from


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def digest(root: Path, paths: Sequence[Path], *extra: str) -> str:
    """A hash of the names and contents of files, and of further texts."""
    whole = hashlib.sha256(repr(extra).encode())
    for path in paths:
        whole.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()[:24]


@functools.cache
def installed() -> str:
    """Names and versions of the installed packages."""
    return repr(sorted(f"{item.name} {item.version}" for item in importlib.metadata.distributions()))


def machinery_digest(project: Project) -> str:
    """A hash of what shapes every page: the configuration, the contents, the press, packages, the repository's address."""
    paths = [project.root / "_config.yml", project.root / "_toc.yml", *files_below(Path(__file__).parent)]
    shaping = installed() + repr(repository.origin(project.root)) + repr([path.read_bytes() for path in paths])
    return hashlib.sha256(shaping.encode()).hexdigest()[:24]


def runs(results: Results) -> dict[str, str]:
    """Which run of each page the site shows."""
    return {page.name: results.ran(page) for page in results.project.pages() if page.code_cells}


def site_digest(results: Results) -> str:
    """A hash of all that the site is made from, the commit for its dates; a site with this digest is up to date."""
    project = results.project
    paths = files_below(project.book) + files_below(project.expected) + files_below(project.root / "lessonlib")
    return digest(project.root, paths, machinery_digest(project), repository.head(project.root), results.profile,
                  *runs(results).values())


def tell(results: Results, checked: Sequence[PageReport]) -> None:
    """Leave for Sphinx, which runs in a process of its own, what it must know of the runs of all pages."""
    found = {name: (item.value, report.name, item.cell) for report in checked for name, item in report.record.measurements.items()}
    told = {"runs": runs(results), "measurements": {name: value for name, (value, _, _) in found.items()},
            "origins": {name: place for name, (_, *place) in found.items()}}
    write_whole(results.project.build / TOLD, json.dumps(told))


def live_site(project: Project, place: str = SITE) -> Path:
    """Where the site, or the preview of its author, is read: a link to the newest complete one."""
    return project.build / place


def up_to_date(site: Path, made_from: str) -> bool:
    """Is the site that is there made from just what is there now?"""
    mark = site / MARK
    return mark.is_file() and mark.read_text() == made_from


def downloads(results: Results, checked: Sequence[PageReport]) -> dict[str, str]:
    """The notebook of each page that has code, readable without the site, as its download button offers it."""
    measurements = {name: item.value for report in checked for name, item in report.record.measurements.items()}
    book = notebooks.context(results.project, measurements)
    shown = repr(book) + digest(results.project.root, files_below(results.project.root / "lessonlib"))  # listings show the library
    return {page.name: remembered("download", page.name, (page.text, results.ran(page), shown),
                                  lambda page=page: nbformat.writes(notebooks.readable(page, results.notebook(page), book)))
            for page in results.project.pages() if page.code_cells}


def write_html(results: Results, checked: Sequence[PageReport], output: Path, doctrees: Path) -> None:
    """Write the HTML of all pages into `output`, reading again only the pages that changed since `doctrees`.

    The notebooks for download are made meanwhile, while Sphinx works in a process of its own.

    Raises
    ------
    BookError
        If Sphinx fails or warns; it holds each warning with its file and line.
    """
    variables = {ROOT_VARIABLE: str(results.project.root), PROFILE_VARIABLE: results.profile, "NO_COLOR": "1"}
    offered, troubles, told = {}, [], doctrees.parent / "sphinx.log"
    sphinx = render.start(results.project.root, output, doctrees, variables, told)
    try:
        offered = downloads(results, checked)
    except BookError as error:
        troubles.append(str(error))
    sphinx.join()
    log = re.sub(r"\x1b\[[0-9;]*m", "", told.read_text("utf8") if told.exists() else "")
    troubles += list(dict.fromkeys(line.replace(f"{results.project.root}{os.sep}", "") for line in log.splitlines()
                                  if re.search(r"WARNING|ERROR|CRITICAL", line)))
    if sphinx.exitcode or troubles:
        raise BookError("the site was not rendered:\n" + "\n".join(troubles or log.splitlines()[-25:]))
    for name, notebook in offered.items():
        (output / "_sources" / f"{name}.ipynb").write_text(notebook, "utf8")
    write_archive(output)


def start_from(project: Project, doctrees: Path, output: Path) -> None:
    """Copy into the new site the pages of the last one, that with which these doctrees were kept."""
    for site in (live_site(project), live_site(project, PREVIEW)):
        marks = [site / MARK, doctrees / MARK]
        if all(mark.is_file() for mark in marks) and marks[0].read_text() == marks[1].read_text():
            shutil.copytree(site, output, dirs_exist_ok=True, ignore=shutil.ignore_patterns("_static", MARK))
            return


def render_warm(results: Results, checked: Sequence[PageReport], output: Path, made_from: str) -> None:
    """Render, starting from the last site and from what the last successful build knew of the pages.

    That knowledge is moved aside while it is in use and moved back when the build is clean; a build
    that fails or is killed loses it, and the next one reads every page.
    """
    kept = results.project.build / "doctrees" / machinery_digest(results.project)
    working = Path(tempfile.mkdtemp(prefix="doctrees-", dir=results.project.build))
    try:
        if kept.is_dir():
            os.rename(kept, working / "doctrees")
            start_from(results.project, working / "doctrees", output)
        write_html(results, checked, output, working / "doctrees")
        for folder in (working / "doctrees", output):
            (folder / MARK).write_text(made_from)
        shutil.rmtree(kept.parent, ignore_errors=True)
        kept.parent.mkdir(parents=True)
        os.rename(working / "doctrees", kept)
    finally:
        shutil.rmtree(working, ignore_errors=True)


def replace_site(project: Project, new: Path, place: str) -> None:
    """Make `new` the site in one move, and remove the ones that it replaces."""
    live = live_site(project, place)
    if os.name == "nt":  # links need rights there; two renames leave a gap of an instant
        shutil.rmtree(live, ignore_errors=True)
        os.rename(new, live)
        return
    link = project.build / f".{new.name}.link"
    link.symlink_to(new.relative_to(project.build))
    if live.is_dir() and not live.is_symlink():
        shutil.rmtree(live)
    os.replace(link, live)
    for old in project.build.glob(f"{place}-*"):
        if old != new:
            shutil.rmtree(old, ignore_errors=True)


def publish(results: Results, checked: Sequence[PageReport], place: str = SITE, say: Callable[[str], None] = print) -> None:
    """Render the site and, when it is complete, put it in the place of the old one; `checked` goes on its status page."""
    project = results.project
    made_from = site_digest(results)
    if up_to_date(live_site(project, place), made_from):
        say("the site is up to date")
        return
    for left in [*project.build.glob("doctrees-*"), *project.build.glob(f".{place}-*.link")]:
        shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
    write_whole(project.build / STATUS, status.page(results, checked))
    tell(results, checked)
    new = Path(tempfile.mkdtemp(prefix=f"{place}-", dir=project.build))
    os.chmod(new, 0o755)
    try:
        render_warm(results, checked, new, made_from)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    replace_site(project, new, place)
    say(f"the site is in {live_site(project, place).relative_to(project.root)}/index.html")
