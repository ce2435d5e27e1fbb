"""Sphinx in a process of its own, forked from one that has Sphinx loaded: loading it takes as long as reading a page.

The loaded process starts when a build starts, and loads while the build executes and checks. Where the
system cannot fork (Windows), Sphinx is loaded anew each time.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path

# Nothing of this book: the loaded process starts in the book's folder, where another `lessonlib` may lie.
LOADED = ["jupyter_book.sphinx", "sphinx.builders.html", "myst_nb.sphinx_ext", "sphinx_book_theme", "sphinx_design",
          "sphinx_exercise", "sphinx_proof", "sphinx_togglebutton", "sphinx_copybutton", "sphinx_comments", "sphinxcontrib.bibtex",
          "sphinx_external_toc", "sphinx_last_updated_by_git", "fontTools.subset", "quickjs"]
FORKS = "forkserver" in multiprocessing.get_all_start_methods()
CONTEXT = multiprocessing.get_context("forkserver" if FORKS else "spawn")


def load_ahead() -> None:
    """Start to load Sphinx, beside what goes on here."""
    if FORKS:
        from multiprocessing import forkserver

        CONTEXT.set_forkserver_preload(LOADED)
        forkserver.ensure_running()


def start(root: Path, output: Path, doctrees: Path, variables: Mapping[str, str], log: Path) -> BaseProcess:
    """Start to write the HTML of a book into `output`; the exit status is 0 only if Sphinx had nothing to warn of.

    Parameters
    ----------
    variables : mapping
        Of the environment, for the extensions of this book.
    log : Path
        Where all that Sphinx says goes.
    """
    process = CONTEXT.Process(target=write_site, args=(root, output, doctrees, dict(variables), log), daemon=True)
    process.start()
    return process


def write_site(root: Path, output: Path, doctrees: Path, variables: dict[str, str], log: Path) -> None:
    """What the process does."""
    gc.disable()  # a third of the time goes into looking for rubbish in millions of nodes that all stay
    os.environ.update(variables)
    with log.open("w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    from jupyter_book.sphinx import build_sphinx

    outcome = build_sphinx(
        root / "book", output, doctreedir=doctrees, noconfig=True, path_config=root / "_config.yml",
        confoverrides={"external_toc_path": str(root / "_toc.yml"), "nitpicky": True, "latex_individualpages": False},
        warningiserror=True, keep_going=True, quiet=True)
    sys.exit(0 if outcome == 0 else 1)
