"""The pages of the book, and the key under which a page's results are kept.

A key covers all that a result depends on: the page's code cells with their options, the modules of
`lessonlib` that these import (followed from import to import), the data files, the packages, the
interpreter and the profile. Prose is not part of it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook
from sphinx_external_toc.parsing import parse_toc_yaml

PROFILES = ("default", "full")  # as in lessonlib.runtime, whose import brings PyTorch and seconds with it
PROFILE_VARIABLE = "LESSONLIB_PROFILE"
CELL_LIMIT = 120  # seconds; a page's front matter may set another under mystnb: execution_timeout


class BookError(Exception):
    """A fault in the book that its authors can mend; the message says what, where and how."""


@dataclass(frozen=True)
class Project:
    """Where the parts of a book lie below its root folder."""

    root: Path

    @property
    def book(self) -> Path:
        return self.root / "book"

    @property
    def expected(self) -> Path:
        return self.root / "tests" / "expected"

    @property
    def build(self) -> Path:
        return self.root / "_build"

    def page_names(self) -> list[str]:
        """The pages named by the table of contents, in reading order.

        Raises
        ------
        BookError
            If `_toc.yml` is missing or names a page that does not exist.
        """
        toc = self.root / "_toc.yml"
        if not toc.is_file():
            raise BookError(f"no _toc.yml in {self.root}; run this in the folder of the book, or name it with --root")
        names = list(parse_toc_yaml(toc).keys())
        for name in names:
            if not (self.book / f"{name}.md").is_file():
                raise BookError(f"_toc.yml names {name}, but book/{name}.md does not exist")
        return names

    def pages(self, names: list[str] | None = None) -> list[Page]:
        """The pages of these names (all by default), read from their files."""
        known = self.page_names()
        for name in names or []:
            if name not in known:
                raise BookError(f"no page {name!r} in _toc.yml; it has {', '.join(known)}")
        return [page_of(name, (self.book / f"{name}.md").read_text("utf8")) for name in names or known]


@dataclass(frozen=True)
class Page:
    """A page's name in the table of contents and its MyST source."""

    name: str
    text: str

    @functools.cached_property
    def notebook(self) -> nbformat.NotebookNode:
        """The page as a notebook without outputs; the ids of its cells are their positions."""
        notebook = read_myst_markdown_notebook(self.text, add_source_map=True)
        for index, cell in enumerate(notebook.cells):
            cell["id"] = f"cell-{index:03d}"
        return notebook

    @functools.cached_property
    def code_cells(self) -> list[nbformat.NotebookNode]:
        return [cell for cell in self.notebook.cells if cell.cell_type == "code"]

    @property
    def title(self) -> str:
        """The page's first heading."""
        return re.search(r"(?m)^# (.+)$", self.text)[1]

    @property
    def cell_limit(self) -> int:
        """Seconds that one cell of this page may take under the default profile."""
        return int(self.notebook.metadata.get("mystnb", {}).get("execution_timeout", CELL_LIMIT))


@functools.lru_cache(maxsize=200)
def page_of(name: str, text: str) -> Page:
    """A page, the same one as before while its text is the same: it is parsed once."""
    return Page(name, text)


@functools.cache
def imported_modules(source: str) -> set[str]:
    """Modules of `lessonlib` that a Python source imports, by dotted name; IPython's magic lines are skipped."""
    plain = re.sub(r"(?m)^[ \t]*[%!].*$", "", source)
    try:
        tree = ast.parse(plain)
    except SyntaxError:
        return set()  # the cell fails when it runs, and the run says so
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name for name in found if name.split(".")[0] == "lessonlib"}


def library_files(root: Path, sources: list[str]) -> dict[str, str]:
    """The files of `lessonlib` that these sources need, by path relative to the root.

    Imports are followed through the library. The package's own `__init__.py` always belongs.

    Raises
    ------
    BookError
        If a source imports `lessonlib.book`: what a page computes may not depend on the press.
    """
    waiting = {"lessonlib"}.union(*(imported_modules(source) for source in sources))
    files: dict[str, str] = {}
    while waiting:
        module = waiting.pop()
        if module == "lessonlib.book" or module.startswith("lessonlib.book."):
            raise BookError(f"a page, or the library that it imports, imports {module}; only the press may")
        base = module.replace(".", "/")
        for path in (f"{base}.py", f"{base}/__init__.py"):
            if path not in files and os.path.isfile(f"{root}/{path}"):
                files[path] = (root / path).read_text("utf8")
                waiting |= imported_modules(files[path])
    return files


def data_files(root: Path) -> dict[str, bytes]:
    """The files below `book/data`, by path relative to the root."""
    return {path.relative_to(root).as_posix(): path.read_bytes()
            for path in sorted((root / "book" / "data").rglob("*")) if path.is_file()}


@functools.cache
def environment() -> tuple[tuple[str, str], ...]:
    """Names and versions of what a result may depend on: interpreter, machine type, packages.

    Only packages that take part in a computation count: an update of the site's theme executes nothing.
    """
    facts = [("python", platform.python_version()), ("machine", platform.machine()), ("system", platform.system())]
    for name in ("torch", "numpy", "matplotlib", "ipykernel", "nbclient"):
        facts.append((name, importlib.metadata.version(name)))
    return tuple(facts)


def page_key(root: Path, page: Page, profile: str, variables: dict[str, str] | None = None) -> str:
    """The name under which a run of this page is kept: a hash of all that its outputs depend on.

    `variables` are further environment variables of the run, as `bands` sets them.
    """
    cells = [(cell.source, cell.metadata) for cell in page.code_cells]
    library = library_files(root, [cell.source for cell in page.code_cells])
    library["lessonlib/book/run.py"] = (Path(__file__).parent / "run.py").read_text("utf8")
    data = {name: hashlib.sha256(content).hexdigest() for name, content in data_files(root).items()}
    parts = [cells, library, data, environment(), profile, variables or {}]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]
