"""Beyond one machine: pages run on the workers of a Dask cluster that has none of the book's files."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PAGE, SmallBook, small_book


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """A scheduler and two worker processes, each in an empty folder of its own."""
    address = f"tcp://127.0.0.1:{free_port()}"
    port = address.rsplit(":", 1)[1]
    commands = [["scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard", "--no-jupyter"]]
    commands += [["worker", address, "--nworkers", "1", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", name]
                 for name in ("first", "second")]
    started = []
    for number, command in enumerate(commands):
        folder = tmp_path / f"host-{number}"
        folder.mkdir()
        started.append(subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_" + command[0], *command[1:]], cwd=folder,
                                        env=dict(os.environ, HOST_FOLDER=str(folder), PYTHONPATH=""), start_new_session=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    yield address
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def many(tmp_path: Path) -> SmallBook:
    """A small book of four pages; each records the folder of the host that ran it."""
    book = small_book(tmp_path / "many")
    names = ["index", "second", "third", "fourth"]
    for name in names:
        text = PAGE.replace("small-speed", f"{name}-speed").replace("(small)=", f"({name})=")
        text += f"\n```{{code-cell}} ipython3\n:name: {name}-host\n:tags: [sampled]\nimport os, time\ntime.sleep(2)\n" \
                f"print(os.environ.get('HOST_FOLDER', 'here'))\n```\n"
        (book.root / "book" / f"{name}.md").write_text(text)
    (book.root / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n" + "".join(f"  - file: {n}\n" for n in names[1:]))
    return book


def test_pages_run_on_both_workers_and_give_the_same_numbers(many: SmallBook, scheduler: str) -> None:
    pages = ["index", "second", "third", "fourth"]
    run = many.press("accept", *pages)
    assert run.status == 0, run.output
    recorded = {path.name: re.sub("seconds: .*", "", path.read_text()) for path in (many.root / "tests" / "expected").glob("*.yml")}
    many.forget()
    run = many.press("check", "--scheduler", scheduler)
    assert run.status == 0 and "4 of 4 pages executed" in run.output, run.output
    hosts = {match for path in (many.root / "_build" / "executed").glob("*.ipynb")
             for match in re.findall(r"host-\d", path.read_text())}
    assert hosts == {"host-1", "host-2"}
    assert many.press("accept", *pages).status == 0
    assert recorded == {path.name: re.sub("seconds: .*", "", path.read_text())
                        for path in (many.root / "tests" / "expected").glob("*.yml")}


def test_a_failing_page_on_the_cluster_fails_the_build(many: SmallBook, scheduler: str) -> None:
    many.replace("time.sleep(2)", "raise RuntimeError('the mount broke')")
    run = many.press("check", "--scheduler", scheduler)
    assert run.status == 1 and "index-host" in run.output and "the mount broke" in run.output, run.output


def test_an_address_without_a_scheduler_is_told(many: SmallBook) -> None:
    run = many.press("check", "--scheduler", f"tcp://127.0.0.1:{free_port()}")
    assert run.status == 1 and "no Dask scheduler answers" in run.output, run.output
