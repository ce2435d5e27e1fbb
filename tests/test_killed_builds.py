"""A build that is killed at any moment leaves the last good site whole, and nothing running."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import psutil
import pytest
from conftest import SmallBook

MOMENTS = 10


def processes_of(book: SmallBook) -> list[str]:
    """Command lines of processes that work on this book, the kernels of its pages included."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        try:
            if str(book.root) in line or "LESSONLIB_ROOT" in process.environ() and process.environ()["LESSONLIB_ROOT"] == str(book.root):
                found.append(line)
        except psutil.Error:
            continue
    return found


def start(book: SmallBook) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-m", "lessonlib.book", "--root", str(book.root), "build"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


@pytest.mark.alone
def test_killed_at_ten_random_moments(book: SmallBook) -> None:
    book.replace('claim("the pump turns", SPEED > 0)', 'claim("the pump turns", SPEED > 0)\nimport time; time.sleep(2)  # 0')
    started = time.monotonic()
    assert start(book).wait(120) == 0
    whole = time.monotonic() - started
    good = book.snapshot()
    moments = random.Random(11)
    for number in range(1, MOMENTS + 1):
        book.replace(f"# {number - 1}", f"# {number}")
        build = start(book)
        time.sleep(moments.uniform(0.05, 0.95) * whole)
        os.kill(build.pid, signal.SIGKILL)
        build.wait(10)
        now = book.snapshot()
        assert now.keys() == good.keys()
        changed = [path for path in good if now[path] != good[path]]
        assert not changed or f"# {number}" in now["_sources/index.md"].decode(), changed
        good = now
    deadline = time.monotonic() + 30
    while processes_of(book) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert processes_of(book) == []
    run = book.press("build")
    assert run.status == 0, run.output
    assert f"# {MOMENTS}" in book.snapshot()["_sources/index.md"].decode()
    assert len(list((book.root / "_build").glob("html-*"))) == 1
