"""What the linter says of the code: nothing, under the rules of pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import ROOT


def ruff(*arguments: str, **options: str) -> subprocess.CompletedProcess:
    command = [str(Path(sys.executable).parent / "ruff"), "check", "--no-cache", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, **options)


def test_nothing_to_mend() -> None:
    run = ruff(".")
    assert run.returncode == 0, run.stdout


def test_a_comparison_that_asserts_nothing_is_seen() -> None:
    assert "B015" in ruff("--stdin-filename", "tests/test_shapes.py", "-", input="shape = (2, 3)\nshape == (3, 2)\n").stdout
