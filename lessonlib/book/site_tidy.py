"""The theme's pages without its dead weight, with their landmarks named and the reader's theme from the start.

Sphinx Book Theme sends an icon font of 1,400 signs twice, as a font and as half a megabyte of script, and
scripts and styles for parts that a page does not have. What is done here is done to the pages and files
as they were written, at the end of a build: it needs no copy of the theme's templates.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fontTools import subset
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

# Files below _static/ that no page asks for.
UNUSED = ["scripts/fontawesome.js*", "**/*.map", "**/*.LICENSE.txt", "*webpack-macros.html", "**/*.po", "**/*.mo"]

# What the theme writes in every page, and what stands there instead.
EDITS = [
    (r'\s*<script defer[^>]*/fontawesome\.js[^>]*></script>', ""),
    (r'styles/theme\.css\?digest=\w+', "basic.css"),  # it holds one line, which imports basic.css
    # The light theme without JavaScript; with it, the theme of the system before anything is painted.
    (r'(<html[^>]*) data-theme="auto"', r'\1 data-theme="light"'),
    (r'localStorage\.getItem\("theme"\) \|\| "auto"',
     'localStorage.getItem("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")'),
    # The logo and the search button lie in a landmark too.
    (r'<div id="pst-primary-sidebar"', '<div id="pst-primary-sidebar" role="complementary" aria-label="Book"'),
]

# The same, where only some pages have it.
RARE_EDITS = [(r' role="doc-biblioentry"', ' role="listitem"')]  # the list around it is a plain list

# Scripts that can wait until the page is read; those of the search page run in the order in which it names them.
PATIENT = re.compile(r'<script (src="[^"]*/(?:doctools|sphinx_highlight|clipboard\.min|copybutton|sphinx-book-theme)\.js)')
SEARCH = 'id="search-results"'

# Scripts and styles that a page needs only if it holds what the expression finds.
FOLDED = r'class="(?=[^"]*\badmonition\b)[^"]*(?<![\w-])(?:dropdown|toggle)(?![\w-])'
NEEDED_FOR = {
    "design-tabs.js": r'class="[^"]*\bsd-tab-set\b',
    "exercise.css": r'class="(?:exercise|solution)\b',
    "proof.css": r'class="proof\b',
    "togglebutton.js": FOLDED,
    "togglebutton.css": FOLDED,
    "copybutton.js": r'class="highlight"',
    "copybutton.css": r'class="highlight"',
    "clipboard.min.js": r'class="highlight"',
    "searchtools.js": SEARCH,
    "language_data.js": SEARCH,
    "searchindex.js": SEARCH,
}
ICON_RULE = re.compile(r'((?:\.fa-[\w-]+::?before,?)+)\{(?:content:|--fa:)"([^"]*)"\}')


def tidied(page: str) -> str:
    """A page after the edits, without the scripts and styles that it does not need.

    Raises
    ------
    ExtensionError
        If the theme no longer writes what an edit replaces: the edit is due for a look.
    """
    for pattern, instead in EDITS:
        page, found = re.subn(pattern, instead, page)
        if not found:
            raise ExtensionError(f"the theme no longer writes {pattern!r}: see EDITS in {__name__}")
    for pattern, instead in RARE_EDITS:
        page = re.sub(pattern, instead, page)
    for name, holds in NEEDED_FOR.items():
        if not re.search(holds, page):
            page = re.sub(rf'\s*<(?:link|script)\b[^>]*[/"]{re.escape(name)}\b[^>]*>(?:</script>)?', "", page)
    return page if SEARCH in page else PATIENT.sub(r"<script defer \1", page)


def used_icons(css: str, texts: list[str]) -> tuple[str, set[int]]:
    """A style sheet without the icons whose names stand in none of the texts, and the code points that it still needs."""
    names = {name for text in texts for name in re.findall(r"fa-[a-z0-9-]+", text)}
    css = ICON_RULE.sub(lambda rule: rule[0] if names & set(re.findall(r"fa-[\w-]+", rule[1])) else "", css)
    escapes = {int(code, 16) for code in re.findall(r"\\([ef][0-9a-f]{3})\b", css)}
    return css, escapes | {ord(sign) for sign in css if "\ue000" <= sign <= "\uf8ff"}


def smaller_font(source: Path, code_points: set[int]) -> None:
    """Write the signs of a TrueType font that are used as `.woff` beside it."""
    options = subset.Options(flavor="woff", layout_features=[], hinting=False, recalc_timestamp=False, notdef_outline=True)
    font = subset.load_font(str(source), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=code_points)
    subsetter.subset(font)
    subset.save_font(font, str(source.with_suffix(".woff")), options)


def fewer_icons(out: Path) -> None:
    """Keep of the icon fonts what the site shows."""
    sheet = out / "_static" / "styles" / "pydata-sphinx-theme.css"
    fonts = sorted((out / "_static").glob("vendor/fontawesome/**/*.ttf"))
    if not fonts:  # nothing came from the theme since the last build
        return
    texts = [path.read_text("utf8") for ending in ("html", "js") for path in sorted(out.rglob(f"*.{ending}"))]
    css, code_points = used_icons(sheet.read_text("utf8"), texts)
    for path in (out / "_static").rglob("*.css"):
        code_points |= used_icons(path.read_text("utf8"), texts)[1]
    css = re.sub(r'\.woff2\) format\("woff2"\),url\([^)]*\.ttf\) format\("truetype"\)', '.woff) format("woff")', css)
    sheet.write_text(css, "utf8")
    for font in fonts:
        smaller_font(font, code_points)
        font.unlink()
        font.with_suffix(".woff2").unlink(missing_ok=True)


def tidy(app: Sphinx, failure: Exception | None) -> None:
    """Tidy the pages and the static files of a finished build."""
    if failure is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for pattern in UNUSED:
        for path in (out / "_static").glob(pattern):
            path.unlink()
    for path in sorted(out.rglob("*.html")):
        page = path.read_text("utf8")
        if "/fontawesome.js" in page:  # written by the theme since the last build
            path.write_text(tidied(page), "utf8")
    fewer_icons(out)


def setup(app: Sphinx) -> dict[str, Any]:
    """Tidy at the end of every build."""
    app.connect("build-finished", tidy)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
