"""What the tests share: the book built once, and small books to break."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from browser import chromium, served
from filelock import FileLock

os.environ["OMP_NUM_THREADS"] = "1"  # tests run beside each other, one a core; read when torch is imported

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Run:
    """What a command of the press did."""

    status: int
    output: str


def press(root: Path, *arguments: str, **variables: str) -> Run:
    """Run `python -m lessonlib.book` on a book, as its user would."""
    run = subprocess.run([sys.executable, "-m", "lessonlib.book", "--root", str(root), *arguments],
                         env=dict(os.environ, **variables), cwd=root, capture_output=True, text=True, timeout=2400)
    return Run(run.returncode, run.stdout + run.stderr)


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site of this book; building it executes and checks every page."""
    with FileLock(ROOT / "_build" / "tests.lock"):  # one of the processes that share the tests builds it
        run = press(ROOT, "build")
    assert run.status == 0, run.output
    return ROOT / "_build" / "html"


@pytest.fixture(scope="module")  # a second browser cannot start in this process while one runs
def browser() -> Iterator[Any]:
    """The browser that the tests of one file share."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def address(site: Path, browser: Any) -> Iterator[str]:
    """Where the built site is served."""
    with served(site) as base:
        yield base


PAGE = """\
---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
---
(small)=
# A small page

The pump idles at {measured}`small-speed:.1f` turns. Its load is $x^2$.

```{code-cell} ipython3
:name: small-speed
from lessonlib.constants import SPEED
from lessonlib.measure import claim, record
print(f"speed {record('small-speed', SPEED):.2f}")
claim("the pump turns", SPEED > 0)
```
"""


@dataclass
class SmallBook:
    """A book of one page in a folder of its own, which a test may break."""

    root: Path

    @property
    def page(self) -> Path:
        return self.root / "book" / "index.md"

    @property
    def site(self) -> Path:
        return self.root / "_build" / "html"

    def replace(self, old: str, new: str, file: Path | None = None) -> None:
        file = file or self.page
        text = file.read_text("utf8")
        assert old in text
        file.write_text(text.replace(old, new), "utf8")

    def press(self, *arguments: str, **variables: str) -> Run:
        return press(self.root, *arguments, **variables)

    def forget(self) -> None:
        """Make the next build a cold one."""
        shutil.rmtree(self.root / "_build", ignore_errors=True)

    def snapshot(self) -> dict[str, bytes]:
        """Every file of the site, by path."""
        return {path.relative_to(self.site).as_posix(): path.read_bytes()
                for path in sorted(self.site.rglob("*")) if path.is_file()}


def small_book(root: Path) -> SmallBook:
    """Lay out a small book: the real configuration and library, one page, and a constant to change."""
    (root / "book").mkdir(parents=True)
    (root / "book" / "index.md").write_text(PAGE, "utf8")
    shutil.copytree(ROOT / "book" / "assets", root / "book" / "assets")
    shutil.copy(ROOT / "book" / "references.bib", root / "book" / "references.bib")
    shutil.copy(ROOT / "_config.yml", root / "_config.yml")
    (root / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    shutil.copytree(ROOT / "lessonlib", root / "lessonlib", ignore=shutil.ignore_patterns("book", "__pycache__"))
    (root / "lessonlib" / "constants.py").write_text('"""One constant."""\n\nSPEED = 24.5\n')
    (root / "tests" / "expected").mkdir(parents=True)
    (root / "tests" / "expected" / "sources.yml").write_text("[]\n")
    return SmallBook(root)


@pytest.fixture(scope="session")
def good_book(tmp_path_factory: pytest.TempPathFactory) -> SmallBook:
    """A small book that is accepted and built, in a folder with a space in its name; copy it, do not change it."""
    book = small_book(tmp_path_factory.mktemp("good") / "a book")
    for command in (["accept", "index"], ["build"]):
        run = book.press(*command)
        assert run.status == 0, run.output
    return book


@pytest.fixture
def book(good_book: SmallBook, tmp_path: Path) -> SmallBook:
    """A small book of the test's own, built and good."""
    shutil.copytree(good_book.root, tmp_path / "a book", symlinks=True)
    return SmallBook(tmp_path / "a book")
