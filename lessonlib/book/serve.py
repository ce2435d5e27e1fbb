"""A live preview: the site on this machine, rebuilt as pages are saved."""

from __future__ import annotations

import functools
import http.server
import threading
import time
from pathlib import Path

from lessonlib.book import check, render
from lessonlib.book.build import PREVIEW, files_below, live_site, publish
from lessonlib.book.execute import Results, alone, execute
from lessonlib.book.pages import BookError

POLL_SECONDS = 0.2
RELOAD = b"""<script>(() => { let made; setInterval(async () => {
  const now = await (await fetch("/.made-from", {cache: "no-store"})).text();
  if (made && made !== now) location.reload(); made = now; }, 300); })()</script>"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site, with a script in each page that reloads it when the site was rebuilt."""

    def log_message(self, *arguments: object) -> None:
        pass

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if path.suffix != ".html" or not path.is_file():
            super().do_GET()
            return
        body = path.read_bytes().replace(b"</body>", RELOAD + b"</body>")
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def state(results: Results) -> dict[Path, int]:
    """The files that the site is made from, with the times of their last change."""
    project = results.project
    folders = [project.book, project.expected, project.root / "lessonlib"]
    paths = [path for folder in folders for path in files_below(folder)] + [project.root / "_toc.yml", project.root / "_config.yml"]
    return {path: path.stat().st_mtime_ns for path in paths if path.exists()}


def rebuild(results: Results) -> None:
    """Execute what changed and render; numbers that moved are told, and shown, since this is the author's preview and not the site."""
    try:
        with alone(results.project):
            pages = results.project.pages()
            print(f"{len(execute(results, pages))} of {len(pages)} pages executed", flush=True)
            reports = check.check(results)
            publish(results, reports, PREVIEW)
        for report in reports:
            for failure in report.failures:
                print(f"\n{failure}")
    except BookError as error:
        print(f"\n{error}")


def serve(results: Results, port: int) -> None:
    """Serve the site on this machine only until interrupted, and rebuild it when a file changes.

    Raises
    ------
    BookError
        If the port is taken.
    """
    handler = functools.partial(Handler, directory=str(live_site(results.project, PREVIEW)))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise BookError(f"port {port} cannot be used ({error}); choose another with --port") from error
    render.load_ahead()
    known = state(results)
    rebuild(results)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{port}/  (Ctrl-C stops it)")
    while True:
        time.sleep(POLL_SECONDS)
        now = state(results)
        if now != known:
            known = now
            rebuild(results)
