"""The workflow files: valid by GitHub's schema, safe, with every action pinned by its hash, and doing what they are for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

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


def workflow(name: str) -> dict[Any, Any]:
    return yaml.safe_load((FOLDER / f"{name}.yml").read_text("utf8"))


def steps(name: str, job: str) -> list[dict[str, Any]]:
    return workflow(name)["jobs"][job]["steps"]


def place(found: list[dict[str, Any]], words: str) -> int:
    """Which step this is: the one whose command or action holds these words."""
    places = [index for index, step in enumerate(found) if words in step.get("run", "") + step.get("uses", "")]
    assert len(places) == 1, (words, places)
    return places[0]


def shell(script: str, **options: Any) -> subprocess.CompletedProcess:
    """Run a step's script as GitHub runs it under `shell: bash`."""
    return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], capture_output=True, text=True, **options)


def test_there_is_one_for_pull_requests_one_for_main_and_one_a_week() -> None:
    """YAML 1.1 reads the key `on` as true."""
    triggers = {path.stem: workflow(path.stem)[True] for path in FILES}
    assert "pull_request" in triggers["test"]
    assert triggers["publish"] == {"push": {"branches": ["main"]}}
    assert len(triggers["newest"]["schedule"]) == 1


def test_a_pull_request_runs_everything_under_the_oldest_and_the_newest_python() -> None:
    job = workflow("test")["jobs"]["test"]
    assert job["strategy"] == {"fail-fast": False, "matrix": {"python": ["3.11", "3.13"]}}
    python, tests = place(job["steps"], "setup-python"), place(job["steps"], ".ci/run")
    assert job["steps"][python]["with"]["python-version"] == "${{ matrix.python }}" and python < tests
    assert job["steps"][tests] == {"run": ".ci/run"}


def test_only_a_site_whose_tests_pass_is_published() -> None:
    build, deploy = steps("publish", "build"), workflow("publish")["jobs"]["deploy"]
    assert place(build, ".ci/run") < place(build, "make book") < place(build, "upload-pages-artifact")
    assert not any("if" in step or "continue-on-error" in step for step in build[:place(build, "upload-pages-artifact") + 1])
    assert build[place(build, "upload-pages-artifact")]["with"] == {"path": "_build/html"}
    assert deploy["needs"] == "build" and "deploy-pages" in deploy["steps"][0]["uses"]
    assert deploy["permissions"] == {"pages": "write", "id-token": "write"}


@pytest.mark.parametrize("name, job", [("test", "test"), ("publish", "build")])
def test_a_failure_leaves_its_results_and_its_site(name: str, job: str) -> None:
    last = steps(name, job)[-1]
    assert last["if"] == "failure()" and "upload-artifact" in last["uses"]
    assert last["with"]["path"].split() == ["_build/executed", "_build/html"]


def test_once_a_week_the_newest_packages_are_tried_and_what_moved_is_told() -> None:
    found = steps("newest", "drift")
    install, check = place(found, "pip install --upgrade"), place(found, "lessonlib.book check --drift drift.md")
    told = place(found, "SUMMARY")
    assert install < check < told < place(found, "upload-artifact")
    assert "if" not in found[check] and "continue-on-error" not in found[check]
    assert found[told]["if"] == found[place(found, "upload-artifact")]["if"] == "${{ !cancelled() }}"


def test_the_newest_packages_are_those_of_the_lock_without_their_versions(tmp_path: Path) -> None:
    found = steps("newest", "drift")
    script = found[place(found, "pip install --upgrade")]["run"].splitlines()[0]
    assert shell(script.replace("requirements.txt", f"'{ROOT}/requirements.txt'"), cwd=tmp_path).returncode == 0
    newest = [line for line in (tmp_path / "newest.txt").read_text().splitlines() if not line.startswith("#")]
    assert "torch" in newest and "jupyter-book<2" in newest and not any("==" in line for line in newest)


@pytest.mark.parametrize("ran", [True, False])
def test_the_summary_is_written_even_where_nothing_ran(tmp_path: Path, ran: bool) -> None:
    if ran:
        (tmp_path / "drift.md").write_text("3 numbers, 1 moved\n")
        (tmp_path / "tests.txt").write_text("7 passed\n")
    found = steps("newest", "drift")
    script = found[place(found, "SUMMARY")]["run"].replace("pip freeze", "echo")
    assert shell(script, cwd=tmp_path, env=dict(os.environ, GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))).returncode == 0
    summary = (tmp_path / "summary.md").read_text()
    assert all((words in summary) == ran for words in ("3 numbers, 1 moved", "7 passed"))
    assert all((words in summary) != ran for words in ("No page was executed", "None ran"))


def test_the_library_is_tested_by_files_that_need_neither_site_nor_browser() -> None:
    found = steps("newest", "drift")
    listing = found[place(found, "pytest")]["run"].split("|\n")[0]
    files = shell(listing, cwd=ROOT).stdout.split()
    assert "tests/test_recurrent.py" in files
    assert not {"tests/test_site.py", "tests/test_book.py", "tests/test_drawings_paths.py"} & set(files)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_command_that_fails_in_a_pipe_fails_its_step(path: Path) -> None:
    """The shell of a step that names none does not look at the first command of a pipe; the one that is named `bash` does."""
    assert workflow(path.stem)["defaults"] == {"run": {"shell": "bash"}}
    assert not any("shell" in step for job in workflow(path.stem)["jobs"].values() for step in job["steps"])


SCRIPTS = {name: (ROOT / name).read_text("utf8") for name in (".ci/run", "binder/postBuild")} | {
    f"{path.name}, {job}, step {index}": step["run"]
    for path in FILES for job in workflow(path.stem)["jobs"] for index, step in enumerate(steps(path.stem, job)) if "run" in step}


def shellcheck(script: str) -> subprocess.CompletedProcess:
    command = [str(Path(sys.executable).parent / "shellcheck"), "--shell=bash", "-"]
    return subprocess.run(command, input=script, capture_output=True, text=True)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_of_the_shell_have_nothing_to_mend(name: str) -> None:
    run = shellcheck(SCRIPTS[name])
    assert run.returncode == 0, run.stdout


def test_a_condition_that_is_always_true_is_seen() -> None:
    assert "SC2157" in shellcheck('if [ "$1 == main" ]; then make test; fi\n').stdout
