"""The heaviest chapter of this site beside the same content as a plain Jupyter Book shows it: weight, requests, accessibility.

    python -m lessonlib.book build && python tests/site_figures.py

Not a test: its figures stand in the README, and test_site.py holds this site to its limits.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from axe_playwright_python.sync_playwright import Axe
from browser import chromium, served, visit
from conftest import ROOT
from probes import OPEN_ALL
from test_accessibility import STANDARDS
from test_lighthouse import heaviest
from test_site import IMAGE

SIZES = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .map(e => [e.name, e.encodedBodySize])"""


def plain_site(folder: Path) -> Path:
    """The executed pages, rendered by Jupyter Book with its own settings and without this book's changes to the theme."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    config["sphinx"] = {"extra_extensions": ["lessonlib.book.extension", "sphinx_exercise", "sphinx_proof"],
                        "config": {"nb_custom_formats": {".md": "lessonlib.book.extension.read_page"}, "nb_merge_streams": True}}
    (folder / "_config.yml").write_text(yaml.safe_dump(config), "utf8")
    run = subprocess.run([str(Path(sys.executable).parent / "jupyter-book"), "build", str(ROOT / "book"), "--config", str(folder / "_config.yml"),
                          "--toc", str(ROOT / "_toc.yml"), "--path-output", str(folder / "out")],
                         env=dict(os.environ, LESSONLIB_ROOT=str(ROOT)), cwd=folder, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stdout + run.stderr)
    return folder / "out" / "_build" / "html"


def figures(browser: object, site: Path, name: str) -> str:
    with served(site) as base, visit(browser, f"{base}/{name}.html", color_scheme="light") as seen:
        seen.page.wait_for_load_state("networkidle")
        weighed = [size for address, size in seen.page.evaluate(SIZES) if not IMAGE.search(address)]
        seen.page.evaluate(OPEN_ALL)
        violations = Axe().run(seen.page, options={"runOnly": STANDARDS, "resultTypes": ["violations"]}).response["violations"]
    places = sum(len(rule["nodes"]) for rule in violations)
    return (f"{sum(weighed) / 1000:.0f} kB in {len(weighed)} requests, images aside; {len(seen.foreign)} requests to other hosts; "
            f"axe-core finds {places} faults against {len(violations)} rules")


def main() -> None:
    site = ROOT / "_build" / "html"
    name = heaviest(site)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        print(f"{name}, this site: {figures(browser, site, name)}", flush=True)
        print(f"{name}, plain Jupyter Book: {figures(browser, plain_site(Path(folder)), name)}")


if __name__ == "__main__":
    main()
