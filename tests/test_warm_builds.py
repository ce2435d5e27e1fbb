"""A warm build writes only the pages that changed, and makes the site that a cold build would make."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SmallBook

from lessonlib.book.publication import ARCHIVE

OTHER = """\
---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
---
(other)=
# A page of pumps

The other page has {measured}`small-speed:.2f` turns.

```{math}
:label: eq-other
x = 1
```
"""


@pytest.fixture(scope="module")
def pair_of_pages(good_book: SmallBook, tmp_path_factory: pytest.TempPathFactory) -> SmallBook:
    """A small book of two pages, the first of which shows the title and an equation of the second."""
    book = SmallBook(tmp_path_factory.mktemp("pair") / "book")
    shutil.copytree(good_book.root, book.root, symlinks=True)
    (book.root / "book" / "other.md").write_text(OTHER)
    (book.root / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n  - file: other\n")
    book.page.write_text(book.page.read_text() + "\nSee {ref}`other` and {eq}`eq-other`.\n")
    run = book.press("build")
    assert run.status == 0, run.output
    return book


@pytest.fixture
def pair(pair_of_pages: SmallBook, tmp_path: Path) -> SmallBook:
    """The same in a folder of the test's own, where Sphinx, whose settings hold the folder, has written all pages once."""
    shutil.copytree(pair_of_pages.root, tmp_path / "pair", symlinks=True)
    book = SmallBook(tmp_path / "pair")
    book.replace("The pump idles at", "The pump idles now at")
    assert book.press("build").status == 0
    return book


def edit(file: str, old: str, new: str) -> Callable[[SmallBook], None]:
    return lambda book: book.replace(old, new, book.root / "book" / file)


def move_a_number(book: SmallBook) -> None:
    book.replace("24.5", "24.6", book.root / "lessonlib" / "constants.py")
    assert book.press("accept", "index").status == 0


EDITS = {
    "a sentence": (edit("index.md", "The pump idles now at", "The pump hums along at"), "hums along at"),
    "a title that another page shows": (edit("other.md", "A page of pumps", "A page of valves"), "A page of valves"),
    "an equation in front of the one that another page links to": (
        edit("other.md", "```{math}", "```{math}\n:label: eq-before\ny = 2\n```\n\n```{math}"), "(2)"),
    "a number that another page quotes": (move_a_number, "24.60"),
    "a style": (edit("assets/book.css", ":root", "p { --pelicans: 1 }\n:root"), "site.css"),
}


def comparable(site: dict[str, bytes]) -> dict[str, object]:
    """The files of a site and of its archive; of a search index what it says, without words that no page holds any more."""
    files: dict[str, object] = {path: content for path, content in site.items() if path != ARCHIVE}
    with zipfile.ZipFile(io.BytesIO(site[ARCHIVE])) as packed:
        files |= {f"{ARCHIVE}/{path}": packed.read(path) for path in packed.namelist()}
    for path in [path for path in files if path.endswith("searchindex.js")]:
        index = json.loads(files[path].decode().removeprefix("Search.setIndex(").removesuffix(")"))
        for group in ("terms", "titleterms"):
            index[group] = {word: places for word, places in index[group].items() if places != []}
        files[path] = index
    return files


@pytest.mark.parametrize("name", EDITS)
def test_a_warm_site_is_the_cold_site(pair: SmallBook, name: str) -> None:
    change, shown = EDITS[name]
    change(pair)
    assert pair.press("build").status == 0
    warm = comparable(pair.snapshot())
    shutil.rmtree(pair.site.resolve())
    shutil.rmtree(pair.root / "_build" / "doctrees")
    pair.site.unlink()
    assert pair.press("build").status == 0
    cold = comparable(pair.snapshot())
    assert shown in warm["index.html"].decode()
    assert [path for path in sorted(warm.keys() | cold.keys()) if warm.get(path) != cold.get(path)] == []


def test_an_edited_sentence_writes_its_page_alone(pair: SmallBook) -> None:
    written = (pair.site / "other.html").stat().st_mtime_ns
    edit("index.md", "The pump idles now at", "The pump hums along at")(pair)
    assert pair.press("build").status == 0
    assert "hums along" in (pair.site / "index.html").read_text()
    assert (pair.site / "other.html").stat().st_mtime_ns == written


def test_a_link_that_an_edit_of_another_page_breaks_fails_warm(pair: SmallBook) -> None:
    edit("other.md", "(other)=\n", "")(pair)
    for _ in range(2):
        run = pair.press("build")
        assert run.status == 1 and "index.md" in run.output and "other" in run.output, run.output


def test_pages_of_a_site_that_the_doctrees_do_not_describe_are_written_anew(pair: SmallBook) -> None:
    """As after a build that was killed between its last two steps."""
    written = (pair.site / "other.html").stat().st_mtime_ns
    (pair.site / ".made-from").write_text("another book")
    assert pair.press("build").status == 0
    assert (pair.site / "other.html").stat().st_mtime_ns > written
