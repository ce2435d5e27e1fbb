"""The book on a reader's own machine: cut off, in a folder that cannot be written, under another Python, in little memory.

All small books of the tests lie in a folder with a space in its name.
"""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from conftest import ROOT, SmallBook

from lessonlib.book import execute
from lessonlib.book.__main__ import main

CUT_OFF = """\
import sys


def refuse(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        place = arguments[1][0]
    elif event == "socket.getaddrinfo":
        place = arguments[0]
    else:
        return
    if place not in (None, "", "localhost", "127.0.0.1", "::1"):
        raise OSError("%s cannot be reached: this machine has no network" % place)


sys.addaudithook(refuse)
"""
FETCH = """
```{code-cell} ipython3
:name: small-fetch
import urllib.request
urllib.request.urlopen("http://192.0.2.1/")
```
"""


def cut_off(folder: Path) -> dict[str, str]:
    """Variables under which no Python process connects to another machine: it reads `CUT_OFF` when it starts.

    A page's kernel has another PYTHONPATH; it reads the same file as IPython's start-up file.
    """
    (folder / "profile_default" / "startup").mkdir(parents=True)
    for place in (folder / "sitecustomize.py", folder / "profile_default" / "startup" / "cut_off.py"):
        place.write_text(CUT_OFF)
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])), "IPYTHONDIR": str(folder)}


def test_a_cold_build_needs_no_network(book: SmallBook, tmp_path: Path) -> None:
    variables = cut_off(tmp_path / "cut off")
    book.forget()
    run = book.press("build", **variables)
    assert run.status == 0 and "1 of 1 pages executed" in run.output, run.output


def test_what_would_need_a_network_is_seen(book: SmallBook, tmp_path: Path) -> None:
    variables = cut_off(tmp_path / "cut off")
    book.page.write_text(book.page.read_text() + FETCH)
    run = book.press("build", **variables)
    assert run.status == 1 and "192.0.2.1 cannot be reached" in run.output, run.output
    fetch = subprocess.run([sys.executable, "-c", "import socket; socket.create_connection(('192.0.2.1', 80))"],
                           env=dict(os.environ, **variables), capture_output=True, text=True)
    assert "192.0.2.1 cannot be reached" in fetch.stderr


AS_IF = "import runpy, sys; sys.version_info = {}; runpy.run_module('lessonlib.book', run_name='__main__')"


@pytest.mark.parametrize("version", [(3, 10, 14), (3, 14, 0)], ids=["older", "newer"])
def test_another_python_is_told_in_one_line(version: tuple[int, int, int]) -> None:
    """This Python, which takes itself for another."""
    run = subprocess.run([sys.executable, "-c", AS_IF.format(version)], capture_output=True, text=True)
    assert run.returncode == 1
    assert (run.stdout + run.stderr).splitlines() == [f"this book needs Python 3.11, 3.12 or 3.13; this is 3.{version[1]}"]


@pytest.mark.parametrize("file", ["lessonlib/__init__.py", "lessonlib/book/__init__.py"])
def test_an_old_python_can_read_the_line_that_turns_it_away(file: str) -> None:
    """Both files are read before the line is printed; what they hold was read like this by Python 2.7 already."""
    allowed = (ast.Expr, ast.Import, ast.If)
    tree = ast.parse((ROOT / file).read_text("utf8"))
    assert all(isinstance(statement, allowed) for statement in tree.body)
    assert not any(isinstance(node, ast.JoinedStr | ast.NamedExpr) for node in ast.walk(tree))


MOUNTED = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"'


@pytest.fixture
def read_only(book: SmallBook) -> Iterator[list[str]]:
    """A small book that cannot be written, and what to put before a command that shall find it so.

    An administrator may write whatever the modes of files say, and so gets a mount of its own, which ends with the command.
    """
    if os.name != "posix":
        pytest.skip("folders of this system cannot be made read-only by their mode")
    if os.geteuid() == 0:
        before = ["unshare", "--mount", "sh", "-c", MOUNTED, str(book.root)]
        if not shutil.which("unshare") or subprocess.run([*before, "true"], capture_output=True).returncode:
            pytest.skip("an administrator who may not mount: no folder can be made read-only")
        yield before
        return
    paths = [book.root, *(path for path in book.root.rglob("*") if not path.is_symlink())]
    for path in paths:
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    yield []
    for path in paths:
        path.chmod(path.stat().st_mode | stat.S_IWUSR)


@pytest.mark.parametrize("command, way_out", [
    ("build", "copy the book to a folder"), ("check", "copy the book to a folder"), ("notebooks", "name a folder")])
def test_a_read_only_clone_is_told_in_one_line(book: SmallBook, read_only: list[str], command: str, way_out: str) -> None:
    run = subprocess.run([*read_only, sys.executable, "-m", "lessonlib.book", command], cwd=book.root,
                         capture_output=True, text=True)
    lines = [line for line in (run.stdout + run.stderr).splitlines() if line]
    assert run.returncode == 1 and len(lines) == 1, lines
    assert lines[0].startswith("nothing can be written in ") and way_out in lines[0], lines


def test_a_page_that_takes_too_much_memory_fails(
        book: SmallBook, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    """The limit is lowered to less than any page takes, so that the test need not fill the real one."""
    monkeypatch.setattr(execute, "MEMORY_LIMIT_MB", 10)
    book.forget()
    assert main(["--root", str(book.root), "check"]) == 1
    said = capsys.readouterr().err
    assert re.search(r"index: took \d\d+ MB of memory; the limit is 10 MB", said) and "build index" in said, said
    assert not list((book.root / "_build").glob("executed/*"))


def test_no_package_for_a_graphics_card_is_installed() -> None:
    if torch.version.cuda:
        pytest.skip("PyTorch is PyPI's build, with CUDA: its index of CPU builds was out of reach when the environment was made")
    names = [item.metadata["Name"] for item in importlib.metadata.distributions()]
    assert [name for name in names if re.match(r"nvidia|cuda|triton|pytorch.triton", name, re.IGNORECASE)] == []


PYTHON = """\
#!/bin/sh
# Stands for Python: makes an environment of itself, installs nothing, and finds no index of CPU builds.
case "$*" in
    "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    *pytorch.org*) exit 1 ;;
esac
"""


@pytest.mark.skipif(not shutil.which("make"), reason="no make on this machine")
def test_make_tells_where_pytorch_comes_from(tmp_path: Path) -> None:
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o755)
    outside = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    run = subprocess.run(["make", "PYTHON=./python", "VENV=.venv", ".venv/ready"], cwd=tmp_path, env=outside,
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert [line for line in run.stdout.splitlines() if "CUDA" in line] == [
        "PyTorch's index of CPU builds cannot be reached; PyPI's build, taken instead, may bring gigabytes of CUDA"]
