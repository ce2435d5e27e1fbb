"""How the heaviest chapter does in Lighthouse, on a server that compresses: the median of five runs, on a desk and on a phone.

It runs where Lighthouse is installed (`npm install --global lighthouse@12.8.2`); a shared machine of continuous
integration, whose speed changes from minute to minute, is no place to measure speed.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
from pathlib import Path

import pytest
from browser import FLAGS, chromium_path, served

VERSION, RUNS = "12.8.2", 5
LEAST = {"desktop": 98, "mobile": 90}
SHIFT = 0.02  # cumulative layout shift
CATEGORIES = ["performance", "accessibility", "best-practices", "seo"]


def heaviest(site: Path) -> str:
    return max(site.glob("[0-9][0-9]-*.html"), key=lambda path: path.stat().st_size).stem


def report(address: str, form: str) -> dict:
    command = ["lighthouse", address, "--quiet", "--output=json", f"--only-categories={','.join(CATEGORIES)}",
               f"--chrome-flags={' '.join(['--headless=new', *FLAGS])}", *(["--preset=desktop"] if form == "desktop" else [])]
    return json.loads(subprocess.run(command, env=dict(os.environ, CHROME_PATH=chromium_path()), capture_output=True, text=True, check=True).stdout)


@pytest.mark.alone
@pytest.mark.parametrize("form", LEAST)
def test_the_heaviest_chapter_is_quick_and_sound(site: Path, form: str) -> None:
    if shutil.which("lighthouse") is None:
        pytest.skip(f"no Lighthouse on this machine: npm install --global lighthouse@{VERSION}")
    assert subprocess.run(["lighthouse", "--version"], capture_output=True, text=True).stdout.strip() == VERSION
    name = heaviest(site)
    with served(site) as base:
        reports = [report(f"{base}/{name}.html", form) for _ in range(RUNS)]
    scores = {category: statistics.median(100 * one["categories"][category]["score"] for one in reports) for category in CATEGORIES}
    shift = statistics.median(one["audits"]["cumulative-layout-shift"]["numericValue"] for one in reports)
    print(f"{name}, {form}: {scores}, layout shift {shift:.4f}")
    assert min(scores.values()) >= LEAST[form], scores
    assert shift < SHIFT
