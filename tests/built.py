"""The built site for the tests that read it: its pages as trees, and a server that shows them as a host does."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from browser import served
from bs4 import BeautifulSoup

from lessonlib.book.pages import Project

PROJECT = Project(Path(__file__).resolve().parent.parent)
PAGES = PROJECT.page_names()  # in reading order
EXTRA = ["search", "404", "genindex"]  # pages that have no source
CODE_PAGES = [page.name for page in PROJECT.pages() if page.code_cells]


@cache
def parsed(site: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((site / f"{name}.html").read_text("utf8"), "html.parser")


@cache
def ids(site: Path, name: str) -> set[str]:
    return {element["id"] for element in parsed(site, name).select("[id]")}


def heaviest(site: Path) -> str:
    """The page with the most markup."""
    return max(PAGES, key=lambda name: (site / f"{name}.html").stat().st_size)


@contextmanager
def hosted(site: Path, folder: Path) -> Iterator[Callable[[str], str]]:
    """Serve the site below the root that its page for missing pages expects; gives the address of each page by name.

    That page, `404`, stands some folders deep: a host shows it wherever a reader got lost.
    """
    root = parsed(site, "404").html["data-content_root"].strip("/")
    deep = folder / root / "a" / "b"
    deep.mkdir(parents=True)
    for path in site.resolve().iterdir():
        (folder / root / path.name).symlink_to(path)
    shutil.copy(site / "404.html", deep)
    with served(folder) as base:
        home = f"{base}/{root}".rstrip("/")
        yield lambda name: f"{home}/{'a/b/' if name == '404' else ''}{name}.html"
