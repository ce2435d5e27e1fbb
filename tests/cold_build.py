"""How long does a cold build take, and how long the same pages under a plain `jupyter-book build`? Both in one run.

    python tests/cold_build.py

Not a test: it executes the whole book twice. Its figures stand in the README.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from conftest import ROOT

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


def plain_copy(built: Path, root: Path) -> None:
    """A copy of the book that Sphinx executes itself, page after page; the roles of the press still work."""
    shutil.copytree(built, root, symlinks=True, ignore=shutil.ignore_patterns("html", "site-*", "doctrees*"))
    config = (root / "_config.yml").read_text("utf8")
    config = config.replace('execute_notebooks: "off"', "execute_notebooks: force\n  timeout: 900")
    config = "\n".join(line for line in config.splitlines() if "nb_custom_formats" not in line) + "\n"
    (root / "_config.yml").write_text(config, "utf8")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT, folder / "press", ignore=LEFT_OUT)
        press = [sys.executable, "-m", "lessonlib.book", "--root", str(folder / "press"), "build"]
        cold = timed(press)
        for path in (folder / "press" / "_build").glob("*"):  # all but the results: the next build only renders
            if path.is_symlink():
                path.unlink()
            elif path.name != "executed":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        rendering = timed(press)
        pages = [json.loads(path.read_text())["metadata"]["lessonlib"]["seconds"]
                 for path in (folder / "press" / "_build" / "executed").glob("*.ipynb")]
        plain_copy(folder / "press", folder / "plain")
        plain = timed([str(Path(sys.executable).parent / "jupyter-book"), "build", str(folder / "plain" / "book"), "--all",
                       "--toc", str(folder / "plain" / "_toc.yml"), "--config", str(folder / "plain" / "_config.yml"),
                       "--path-output", str(folder / "plain" / "out")],
                      LESSONLIB_ROOT=str(folder / "plain"), PYTHONPATH=str(folder / "plain"), OMP_NUM_THREADS="1")
        limit = ALLOWED * sum(pages) / 2 + rendering
        print(f"pages: {len(pages)}, {sum(pages):.0f} s in all, the longest {max(pages):.0f} s; rendering {rendering:.0f} s\n"
              f"cold build {cold:.0f} s, allowed {limit:.0f} s; plain jupyter-book build {plain:.0f} s; ratio {cold / plain:.2f}")


if __name__ == "__main__":
    main()
