"""How long does a cold build take, and how long the same pages under a plain `jupyter-book build`? Both in one run.

    python tests/cold_build.py [PAGE ...]

Not a test: it executes the whole book twice, or the pages that are named; all others then keep what the last build
found, and the plain build does not execute them. Its figures stand in the README.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from conftest import ROOT

from lessonlib.book.execute import Results
from lessonlib.book.pages import Page, Project

LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "_build", "__pycache__")
ALLOWED = 1.15  # times half of the pages' summed seconds, beside the rendering


def timed(command: list[str], **variables: str) -> float:
    """Seconds that a command takes.

    Raises
    ------
    SystemExit
        If it fails, with what it said.
    """
    started = time.monotonic()
    run = subprocess.run(command, env=dict(os.environ, **variables), capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{run.stdout}{run.stderr}")
    return time.monotonic() - started


def press_copy(root: Path, kept: Sequence[Page]) -> None:
    """A copy of the book in which only some pages are executed already."""
    shutil.copytree(ROOT, root, ignore=LEFT_OUT)
    (root / "_build" / "executed").mkdir(parents=True)
    for page in kept:
        shutil.copy(Results(Project(ROOT)).executed(page), root / "_build" / "executed")


def plain_copy(built: Path, root: Path, kept: Sequence[Page]) -> None:
    """A copy of the book that Sphinx executes itself, page after page; the roles of the press still work."""
    shutil.copytree(built, root, symlinks=True, ignore=shutil.ignore_patterns("html", "html-*", "doctrees*"))
    config = (root / "_config.yml").read_text("utf8")
    left_out = json.dumps([f"{page.name}.md" for page in kept])
    config = config.replace('execute_notebooks: "off"', f"execute_notebooks: force\n  timeout: 900\n  exclude_patterns: {left_out}")
    config = "\n".join(line for line in config.splitlines() if "nb_custom_formats" not in line) + "\n"
    (root / "_config.yml").write_text(config, "utf8")


def main() -> None:
    coded = [page for page in Project(ROOT).pages() if page.code_cells]
    kept = [page for page in coded if sys.argv[1:] and page.name not in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        press_copy(folder / "press", kept)
        press = [sys.executable, "-m", "lessonlib.book", "--root", str(folder / "press"), "build"]
        cold = timed(press)
        for path in (folder / "press" / "_build").glob("*"):  # all but the results: the next build only renders
            if path.is_symlink():
                path.unlink()
            elif path.name != "executed":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        rendering = timed(press)
        results = Results(Project(folder / "press"))
        pages = [results.notebook(page).metadata["lessonlib"]["seconds"] for page in coded if page not in kept]
        plain_copy(folder / "press", folder / "plain", kept)
        plain = timed([str(Path(sys.executable).parent / "jupyter-book"), "build", str(folder / "plain" / "book"), "--all",
                       "--toc", str(folder / "plain" / "_toc.yml"), "--config", str(folder / "plain" / "_config.yml"),
                       "--path-output", str(folder / "plain" / "out")],
                      LESSONLIB_ROOT=str(folder / "plain"), PYTHONPATH=str(folder / "plain"), OMP_NUM_THREADS="1")
        limit = ALLOWED * sum(pages) / 2 + rendering
        print(f"pages: {len(pages)}, {sum(pages):.0f} s in all, the longest {max(pages):.0f} s; rendering {rendering:.0f} s\n"
              f"cold build {cold:.0f} s, allowed {limit:.0f} s; plain jupyter-book build {plain:.0f} s; ratio {cold / plain:.2f}")


if __name__ == "__main__":
    main()
