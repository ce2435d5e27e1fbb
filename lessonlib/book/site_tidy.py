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

from lessonlib.book import styles

# Files below _static/ that no page asks for.
UNUSED = ["scripts/fontawesome.js*", "styles/theme.css", "**/*.map", "**/*.LICENSE.txt", "*webpack-macros.html", "**/*.po", "**/*.mo"]

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
RARE_EDITS = [
    (r' role="doc-biblioentry"', ' role="listitem"'),  # the list around it is a plain list
    (r'<span class="[npw]">([^<]*)</span>', r"\1"),  # names, punctuation and spaces, in the colour of the code around them
]

# In the theme's script, which boxes scroll is asked of all before any is changed; else the page is laid out anew for each.
SCRIPT = "scripts/pydata-sphinx-theme.js"
SCROLLS = re.compile(r'(document\.querySelectorAll\(\["pre".*?\]\.join\(", "\)\))\.forEach\(e=>\{e\.tabIndex=([^?{}]*)\?0:-1\}\)')
ASKED_FIRST = r"[...\1].map(e=>[e,\2]).forEach(([e,scrolls])=>{e.tabIndex=scrolls?0:-1})"

# Scripts that can wait until the page is read; those of the search page run in the order in which it names them.
PATIENT = re.compile(r'<script (src="[^"]*/(?:doctools|sphinx_highlight|clipboard\.min|copybutton|sphinx-book-theme)\.js)')
SEARCH = 'id="search-results"'

# Scripts that a page needs only if it holds what the expression finds.
FOLDED = r'class="(?=[^"]*\badmonition\b)[^"]*(?<![\w-])(?:dropdown|toggle)(?![\w-])'
NEEDED_FOR = {
    "design-tabs.js": r'class="[^"]*\bsd-tab-set\b',
    "togglebutton.js": FOLDED,
    "copybutton.js": r'class="highlight"',
    "clipboard.min.js": r'class="highlight"',
    "searchtools.js": SEARCH,
    "language_data.js": SEARCH,
    "searchindex.js": SEARCH,
}

FIGURE_STYLE = '<style type="text/css">*{stroke-linejoin: round; stroke-linecap: butt}</style>'
FIGURE = re.compile(r'<svg class="figure".*?</svg>', re.DOTALL)
PLACE = re.compile(r'\b(?:d|x|y)="[^"]*"')
LONG = re.compile(r"-?\d+\.\d{3,}")


def edited(text: str, pattern: str | re.Pattern[str], instead: str) -> str:
    """What the theme wrote, after an edit.

    Raises
    ------
    ExtensionError
        If the theme no longer writes what the edit replaces: it is due for a look.
    """
    text, found = re.subn(pattern, instead, text)
    if not found:
        raise ExtensionError(f"the theme no longer writes {pattern!r}: see {__name__}")
    return text


def tidied(page: str) -> str:
    """A page after the edits, without the scripts that it does not need, and with one style sheet."""
    for pattern, instead in EDITS:
        page = edited(page, pattern, instead)
    for pattern, instead in RARE_EDITS:
        page = re.sub(pattern, instead, page)
    for name, holds in NEEDED_FOR.items():
        if not re.search(holds, page):
            page = re.sub(rf'\s*<script\b[^>]*[/"]{re.escape(name)}\b[^>]*></script>', "", page)
    page = lighter(styles.one_sheet(page))
    return page if SEARCH in page else PATIENT.sub(r"<script defer \1", page)


def lighter(page: str) -> str:
    """A page whose figures are drawn to a hundredth of a point, without a style sheet in each.

    Matplotlib writes a millionth, which nobody sees, and a sheet that holds for the whole page: at each the browser
    would style everything again. What it says stands in `book.css`.
    """
    return FIGURE.sub(lambda figure: PLACE.sub(lambda place: LONG.sub(lambda number: f"{float(number[0]):.2f}", place[0]),
                                               figure[0].replace(FIGURE_STYLE, "")), page)


def smaller_font(source: Path, code_points: set[int]) -> None:
    """Write the signs of a TrueType font that are used as `.woff` beside it."""
    options = subset.Options(flavor="woff", layout_features=[], hinting=False, recalc_timestamp=False, notdef_outline=True)
    font = subset.load_font(str(source), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=code_points)
    subsetter.subset(font)
    subset.save_font(font, str(source.with_suffix(".woff")), options)


def shown_icons(css: str) -> set[int]:
    """Code points of the icons in a style sheet, written as escapes or as themselves."""
    escapes = {int(code, 16) for code in re.findall(r"\\([ef][0-9a-f]{3})\b", css)}
    return escapes | {ord(sign) for sign in css if "\ue000" <= sign <= "\uf8ff"}


def fewer_icons(static: Path, css: str) -> str:
    """Keep of the icon fonts what a style sheet shows; the sheet, which then names the smaller fonts."""
    code_points = shown_icons(css)
    for font in sorted(static.glob("vendor/fontawesome/**/*.ttf")):
        smaller_font(font, code_points)
        font.unlink()
        font.with_suffix(".woff2").unlink(missing_ok=True)
    return re.sub(r'\.woff2\) format\("woff2"\),\s*url\([^)]*\.ttf\) format\("truetype"\)', '.woff) format("woff")', css)


def tidy(app: Sphinx, failure: Exception | None) -> None:
    """Tidy the pages and the static files of a finished build."""
    if failure is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for pattern in UNUSED:
        for path in static.glob(pattern):
            path.unlink()
    script = static / SCRIPT
    script.write_text(edited(script.read_text("utf8"), SCROLLS, ASKED_FIRST), "utf8")
    pages = {path: path.read_text("utf8") for path in sorted(Path(app.outdir).rglob("*.html"))}
    tidy_pages = {path: tidied(page) if "/fontawesome.js" in page else page for path, page in pages.items()}  # or tidied before
    names = styles.names_in(tidy_pages.values(), [path.read_text("utf8") for path in static.rglob("*.js")])
    css = fewer_icons(static, styles.merged(static, names, Path(app.doctreedir) / "styles.json"))
    (static / styles.SITE).write_text(css, "utf8")
    for path, page in tidy_pages.items():
        page = styles.stamped(page, css)
        if page != pages[path]:
            path.write_text(page, "utf8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Tidy at the end of every build."""
    app.connect("build-finished", tidy, priority=900)  # after the theme has written pygments.css
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
