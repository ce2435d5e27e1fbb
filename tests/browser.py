"""A real browser for the tests: Debian's Chromium, that reaches the site under test and nothing else."""

from __future__ import annotations

import functools
import gzip
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]
NAMES = ["chromium", "chromium-browser", "google-chrome"]
MISSING = "no Chromium on this machine: apt-get install chromium (or set CHROMIUM to its path)"
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


def chromium_path() -> str | None:
    """Where the browser is, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """A running browser. Without Chromium the tests that need one are skipped, under CI they fail."""
    path = chromium_path()
    if path is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(MISSING)
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def explorer_page(elements: str, kind: str, folder: Path) -> Iterator[Any]:
    """A page with explorers, their scripts and their style, opened from the disk at a phone's width without a network.

    It keeps what went wrong in `faults`, and where the text after the explorers stood before the script in `window.before`.
    """
    assets = Path(__file__).parents[1] / "book" / "assets"
    style, shared, own = ((assets / name).read_text(encoding="utf-8") for name in ("book.css", "explorer.js", f"{kind}.js"))
    path = folder / "page.html"
    path.write_text(f"<!doctype html><html lang=en><meta charset=utf-8><title>t</title><style>{style}</style><body>{elements}<p id=after>after</p>"
                    f"<script>window.before = document.getElementById('after').offsetTop</script><script>{shared}</script><script>{own}</script></body></html>",
                    encoding="utf-8")
    with chromium() as browser:
        opened = browser.new_page(viewport={"width": 360, "height": 800}, offline=True)
        opened.faults = []
        opened.on("pageerror", lambda error: opened.faults.append(str(error)))
        opened.on("console", lambda message: message.type == "error" and opened.faults.append(message.text))
        opened.goto(path.as_uri())
        yield opened


class Compressing(http.server.SimpleHTTPRequestHandler):
    """Serves files as a real host does: text compressed, connections kept, nothing logged."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if path.suffix not in {".html", ".css", ".js", ".svg", ".json", ".ipynb"} or not path.is_file():
            return super().do_GET()
        body = gzip.compress(path.read_bytes(), mtime=0)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Address of a folder, served on the loopback interface."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Compressing, directory=str(folder)))
    server.handle_error = lambda request, client: None  # a tab that is closed hangs up
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Visit:
    """A page in a tab of its own, with all that it asked for and all that went wrong."""

    page: Any
    requests: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@contextmanager
def visit(browser: Any, address: str, **options: Any) -> Iterator[Visit]:
    """Open an address in a fresh profile; requests that leave the site are recorded and cut off.

    Parameters
    ----------
    browser
        From `chromium`.
    address : str
        `http://127.0.0.1:...` or `file://...`.
    options
        Of Playwright's `new_context`: `viewport`, `color_scheme`, `java_script_enabled`.
    """
    home = "file:" if address.startswith("file:") else "/".join(address.split("/")[:3]) + "/"
    context = browser.new_context(**{"viewport": WIDE, "reduced_motion": "reduce", **options})
    page = context.new_page()
    seen = Visit(page)

    def sort(route: Any) -> None:
        url = route.request.url
        if url.startswith((home, "data:", "blob:")):
            seen.requests.append(url)
            route.continue_()
        else:
            seen.foreign.append(url)
            route.abort()

    context.route("**/*", sort)
    page.on("console", lambda message: message.type in {"error", "warning"} and seen.errors.append(message.text))
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("response", lambda answer: answer.status >= 400 and seen.errors.append(f"{answer.status} {answer.url}"))
    try:
        answer = page.goto(address, wait_until="load")
        assert answer is None or answer.ok, f"{answer.status} {address}"
        yield seen
    finally:
        context.close()
