"""The theme's pages without its dead weight, with their landmarks named and the theme of the reader's system at once.

Sphinx Book Theme sends Font Awesome twice, as fonts and as half a megabyte of script; the fonts are enough.
All that is done here is done to the pages as they were written, at the end of a build.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

# Files that no page asks for, below _static/.
UNUSED = ["scripts/fontawesome.js*", "vendor/fontawesome/**/*.ttf", "**/*.map", "**/*.LICENSE.txt", "webpack-macros.html",
          "sbt-webpack-macros.html", "**/.gitignore", "jquery.js", "_sphinx_javascript_frameworks_compat.js"]

# In a page: (what the theme writes, what stands there instead, is it on every page).
EDITS: list[tuple[str, str, bool]] = [
    (r'\s*<!-- So that users can add custom icons -->', "", False),
    (r'\s*<script defer[^>]*/fontawesome\.js[^>]*></script>', "", True),
    # The light theme without JavaScript; with it, the theme of the system before anything is painted.
    (r'(<html[^>]*) data-theme="auto"', r'\1 data-theme="light"', True),
    (r'localStorage\.getItem\("theme"\) \|\| "auto"',
     'localStorage.getItem("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")', True),
    # The logo and the search button are part of a landmark too.
    (r'<div id="pst-primary-sidebar"', '<div id="pst-primary-sidebar" role="complementary" aria-label="Book"', True),
]


def tidied(page: str) -> tuple[str, list[str]]:
    """A page after the edits, and the patterns that should have been found in it but were not."""
    missing = []
    for pattern, instead, everywhere in EDITS:
        page, found = re.subn(pattern, instead, page)
        if everywhere and not found:
            missing.append(pattern)
    return page, missing


def tidy(app: Sphinx, failure: Exception | None) -> None:
    """Tidy the pages and the static files of a finished build.

    Raises
    ------
    ExtensionError
        If the theme no longer writes what an edit replaces: the edit is due for a look.
    """
    if failure is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for pattern in UNUSED:
        for path in (out / "_static").glob(pattern):
            path.unlink()
    for path in sorted(out.rglob("*.html")):
        page = path.read_text("utf8")
        if "fontawesome.js" not in page:  # tidied by an earlier build, or not a page of the theme
            continue
        page, missing = tidied(page)
        if missing:
            raise ExtensionError(f"{path.name}: the theme no longer writes {missing[0]!r}; see {__name__}")
        path.write_text(page, "utf8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Tidy at the end of every build."""
    app.connect("build-finished", tidy)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
