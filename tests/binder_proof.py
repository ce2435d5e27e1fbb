"""Does a page open and run in Binder? Builds the environment as repo2docker does, and works the pages in JupyterLab as a reader would.

    python tests/binder_proof.py FOLDER

Not a test: it installs a second environment, in FOLDER, and runs three pages. Its result stands in the README.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from browser import chromium
from conftest import ROOT

PAGES = ["02-recurrent-network", "05-lstm", "lab-06-order"]
LIMIT = 900  # seconds that a page may run
TOKEN = "proof"

# Of each code cell its prompt ([*] while it waits or runs, none where its source is folded away), and whether it shows an error.
STATES = """() => [...document.querySelectorAll('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell')].map(cell =>
  [cell.querySelector('.jp-InputPrompt')?.textContent ?? '', !!cell.querySelector('[data-mime-type="application/vnd.jupyter.error"], .jp-RenderedError')])"""
PROSE = """() => [...document.querySelectorAll('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-RenderedMarkdown')].map(e => e.textContent).join('\\n')"""


def run(command: list[str], folder: Path, **variables: str) -> None:
    print("$", *command, flush=True)
    subprocess.run(command, cwd=folder, env=dict(os.environ, **variables), check=True)


def environment(folder: Path) -> tuple[Path, Path]:
    """The book's commit in a fresh clone, and its environment: the files that repo2docker reads, in its order."""
    clone, scripts = folder / "repo", folder / "env" / "bin"
    if not clone.exists():
        run(["git", "clone", "--quiet", str(ROOT), str(clone)], folder)
    wanted = (clone / "binder" / "runtime.txt").read_text().strip().removeprefix("python-")
    if not scripts.exists():
        run([f"python{wanted}", "-m", "venv", str(folder / "env")], folder)
        run([str(scripts / "pip"), "install", "--quiet", "jupyterlab"], clone)  # repo2docker brings its own
        run([str(scripts / "pip"), "install", "--quiet", "-r", "binder/requirements.txt"], clone)
    run(["bash", "binder/postBuild"], clone, PATH=f"{scripts}{os.pathsep}{os.environ['PATH']}")
    return clone, scripts


def work_page(browser: object, base: str, page: str) -> None:
    """Open the address that the launch button names, run all cells, and look at what is there.

    Raises
    ------
    AssertionError
        If a cell fails or does not end, or markup of the site stands in the prose.
    """
    tab = browser.new_page(viewport={"width": 1280, "height": 30_000})  # all cells are drawn: JupyterLab leaves out what is out of sight
    started = time.monotonic()
    tab.goto(f"{base}/lab/tree/book/{page}.ipynb?token={TOKEN}")
    tab.wait_for_selector(".jp-NotebookPanel .jp-CodeCell", timeout=120_000)
    prose, before = "", None
    while prose != before or len(prose) < 4000:  # cells are drawn one after the other
        assert time.monotonic() - started < LIMIT, f"{page}: {prose}"
        tab.wait_for_timeout(3_000)
        prose, before = tab.evaluate(PROSE), prose
    assert not re.search(r"\{[a-z:]+\}`|```|:::|^\([\w-]+\)=", prose, re.MULTILINE), prose[:500]
    tab.get_by_role("menuitem", name="Run", exact=True).click()
    tab.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    while True:
        tab.wait_for_timeout(2_000)
        states = tab.evaluate(STATES)
        assert not any(error for _, error in states), f"{page}: a cell fails"
        if all(re.fullmatch(r"(\[\d+\]:)?", prompt) for prompt, _ in states):
            break
        assert time.monotonic() - started < LIMIT, f"{page}: {states}"
    pictures = tab.locator(".jp-NotebookPanel .jp-RenderedSVG, .jp-NotebookPanel .jp-RenderedHTMLCommon svg").count()
    print(f"{page}: {len(states)} code cells ran without an error in {time.monotonic() - started:.0f} s, {pictures} drawings shown", flush=True)
    tab.close()


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    clone, scripts = environment(folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    lab = subprocess.Popen([str(scripts / "jupyter"), "lab", "--no-browser", "--allow-root", f"--port={port}", f"--IdentityProvider.token={TOKEN}"],
                           cwd=clone, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(120):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.5)
        with chromium() as browser:
            for page in PAGES:
                work_page(browser, f"http://127.0.0.1:{port}", page)
    finally:
        lab.terminate()


if __name__ == "__main__":
    main()
