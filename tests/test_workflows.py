"""The workflow files: valid by GitHub's schema, safe, and with every action pinned by its hash."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

FOLDER = ROOT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))


def tool(name: str, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(Path(sys.executable).parent / name), *arguments], capture_output=True, text=True)


def lint(*paths: Path) -> subprocess.CompletedProcess:
    return tool("zizmor", "--offline", "--no-progress", *map(str, paths))


def test_valid_by_the_schema_of_github() -> None:
    run = tool("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *map(str, FILES))
    assert run.returncode == 0, run.stdout


def test_nothing_to_report_to_the_linter() -> None:
    run = lint(*FILES)
    assert run.returncode == 0 and "No findings" in run.stdout, run.stdout


def test_the_linter_sees_an_action_without_a_hash(tmp_path: Path) -> None:
    spoiled = tmp_path / "workflow.yml"
    spoiled.write_text(re.sub(r"checkout@\w+", "checkout@v7", FILES[0].read_text("utf8")), "utf8")
    assert lint(spoiled).returncode != 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_actions_are_pinned_by_hash_with_their_version_beside(path: Path) -> None:
    uses = re.findall(r"uses: (.*)", path.read_text("utf8"))
    assert uses and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line) for line in uses)


def test_there_is_one_for_pull_requests_one_for_main_and_one_a_week() -> None:
    """YAML 1.1 reads the key `on` as true."""
    triggers = {path.stem: yaml.safe_load(path.read_text("utf8"))[True] for path in FILES}
    assert "pull_request" in triggers["test"]
    assert triggers["publish"] == {"push": {"branches": ["main"]}}
    assert len(triggers["newest"]["schedule"]) == 1
