"""Every page of the built site in a browser: alone on its machine, light and dark, on a phone and a wide screen, on paper."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest
from browser import PHONE, WIDE, Visit, visit
from built import EXTRA, PAGES, hosted, ids, parsed
from probes import CUT_OFF, FIGURE_CONTRAST, LAYOUT_SHIFT, OPEN_ALL, OUT_OF_REACH, PAPER_CONTRAST, READ_TEXT
from sphinx.errors import ExtensionError

from lessonlib.book.site_tidy import FIGURE_STYLE, lighter, shown_icons, tidied

KILOBYTES, REQUESTS = 400, 25  # of a page, images aside
SHIFT = 0.02  # of the layout, while a page loads
IMAGE = re.compile(r"\.(svg|png|jpg|ico)(\?|$)")
FILE_NAME = re.compile(r"\.(svg|png|jpe?g|gif|py|md|ipynb)\b|<Figure")
DESK, COLUMN = {"width": 1920, "height": 1080}, 800  # a wide screen; the widest article, in pixels
SHEET = {"width": 672, "height": 980}  # A4 without its margins


@pytest.fixture(scope="module")
def place(site: Path, browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Gives the address of a page."""
    with hosted(site, tmp_path_factory.mktemp("host")) as address_of:
        yield address_of


@pytest.fixture(scope="module", params=[*PAGES, *EXTRA])
def opened(request: pytest.FixtureRequest, browser: Any, place: Callable[[str], str]) -> Iterator[Visit]:
    """One page, opened once for all the tests that only look at it."""
    with visit(browser, place(request.param), color_scheme="light") as seen:
        seen.page.wait_for_load_state("networkidle")
        yield seen


# ---- every page, as it stands

def test_page_asks_for_nothing_foreign_and_reports_nothing(opened: Visit) -> None:
    assert opened.foreign == [] and opened.errors == []


def test_page_is_light(opened: Visit) -> None:
    sizes = opened.page.evaluate("""() => [...performance.getEntriesByType("navigation"),
        ...performance.getEntriesByType("resource")].map(e => [e.name, e.encodedBodySize])""")
    weighed = [(name, size) for name, size in sizes if not IMAGE.search(name)]
    assert sum(size for _, size in weighed) <= KILOBYTES * 1000, sorted(weighed, key=lambda entry: -entry[1])[:5]
    assert len(weighed) <= REQUESTS, [name for name, _ in weighed]


def test_nothing_moves_while_a_page_loads(opened: Visit) -> None:
    assert opened.page.evaluate(LAYOUT_SHIFT) < SHIFT


def test_text_is_for_readers(opened: Visit) -> None:
    text = opened.page.evaluate(READ_TEXT)
    for raw in (r"\\[a-zA-Z]{2,}", r"\$[^\s$][^$\n]*\$", r"\{[a-z:]+\}`", r"np\.\w+\(", r"\b(tensor|array)\(", r"<Figure size", r"<\w+ object at"):
        assert not (found := re.search(raw, text)), f"{raw}: {text[max(0, found.start() - 60):found.end() + 60]!r}"


def test_figures_say_what_they_show(opened: Visit) -> None:
    alts = opened.page.eval_on_selector_all(
        "article svg.figure:not(.explorer *), article img",
        "found => found.map(e => e.getAttribute('aria-label') ?? e.getAttribute('alt') ?? '')")
    assert [alt for alt in alts if not 20 <= len(alt) <= 250 or FILE_NAME.search(alt)] == []


def test_figures_use_signs_that_every_font_has(opened: Visit) -> None:
    texts = opened.page.eval_on_selector_all("article svg text", "found => found.map(e => e.textContent)")
    assert [text for text in texts if re.search("[\ue000-\uf8ff]", text)] == []


def test_headings_descend_in_order(opened: Visit) -> None:
    levels = opened.page.eval_on_selector_all("h1, h2, h3, h4, h5, h6", """found => found
        .filter(e => e.offsetParent !== null).map(e => Number(e.tagName[1]))""")
    assert levels[0] == 1 and levels.count(1) == 1, levels
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


def test_ids_are_unique_and_glyphs_are_there(opened: Visit) -> None:
    present = opened.page.eval_on_selector_all("[id]", "found => found.map(e => e.id)")
    assert [name for name, times in Counter(present).items() if times > 1] == []
    used = opened.page.eval_on_selector_all("use", "found => found.map(e => (e.getAttribute('href') ?? e.getAttribute('xlink:href')).slice(1))")
    assert set(used) <= set(present)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_figures_are_legible(opened: Visit, theme: str) -> None:
    opened.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    poor = [(round(ratio, 2), text) for ratio, text in opened.page.evaluate(FIGURE_CONTRAST) if ratio < 4.5]
    assert poor == []


def test_wide_boxes_scroll_by_keyboard(opened: Visit) -> None:
    opened.page.evaluate(OPEN_ALL)
    opened.page.wait_for_timeout(400)
    assert opened.page.evaluate(OUT_OF_REACH) == []


def test_lines_stay_short_on_a_wide_screen(opened: Visit) -> None:
    opened.page.set_viewport_size(DESK)
    assert opened.page.evaluate("document.scrollingElement.scrollWidth") <= DESK["width"]
    assert opened.page.locator(".bd-article-container").first.bounding_box()["width"] <= COLUMN
    opened.page.set_viewport_size(WIDE)


def test_paper_is_light_and_whole_whatever_the_theme(opened: Visit) -> None:
    opened.page.evaluate("document.documentElement.dataset.theme = 'dark'")
    opened.page.emulate_media(media="print")
    opened.page.set_viewport_size(SHEET)
    poor = [(round(ratio, 2), text) for probe in (FIGURE_CONTRAST, PAPER_CONTRAST) for ratio, text in opened.page.evaluate(probe) if ratio < 4.5]
    assert poor == []
    assert opened.page.evaluate(CUT_OFF) == []


@pytest.mark.parametrize("name", [*PAGES, *EXTRA])
def test_fits_a_phone(browser: Any, place: Callable[[str], str], name: str) -> None:
    with visit(browser, place(name), viewport=PHONE) as seen:
        assert seen.page.evaluate(LAYOUT_SHIFT) < SHIFT
        seen.page.evaluate(OPEN_ALL)
        assert seen.page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
        seen.page.wait_for_timeout(300)  # the theme makes wide code reachable a moment after the page has loaded
        assert seen.page.evaluate(OUT_OF_REACH) == []


@pytest.mark.parametrize("name", [*PAGES, "search", "genindex"])
def test_opens_from_a_disk(browser: Any, site: Path, name: str) -> None:
    with visit(browser, (site / f"{name}.html").as_uri()) as seen:
        assert seen.foreign == [] and seen.errors == []
        assert seen.page.locator("main h1:visible").count() == 1


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(site: Path, name: str) -> None:
    page = parsed(site, name)
    for anchor in page.select("a[href]"):
        path, fragment = urldefrag(unquote(anchor["href"]))
        if re.match(r"[a-z]+:", path) or (not fragment and path in {"", "#"}):
            continue
        target = (site / path.split("?")[0]) if path else site / f"{name}.html"
        assert target.exists(), anchor["href"]
        if fragment and target.suffix == ".html":
            assert fragment in ids(site, target.stem), anchor["href"]


@pytest.mark.parametrize("name", PAGES)
def test_page_describes_itself(site: Path, name: str) -> None:
    page = parsed(site, name)
    described = page.find("meta", attrs={"name": "description"})
    assert described and 50 <= len(described["content"]) <= 160, described
    assert page.html["lang"] and page.title.string.strip()


def test_every_page_has_the_icon_of_the_book(site: Path) -> None:
    for name in PAGES:
        icon = parsed(site, name).select_one('link[rel~="icon"]')
        assert icon and (site / icon["href"].split("?")[0]).is_file(), name


def test_previous_and_next_follow_the_contents(site: Path) -> None:
    for before, name, after in zip([None, *PAGES[:-1]], PAGES, [*PAGES[1:], None], strict=True):
        links = [link["href"] for link in parsed(site, name).select("a.left-prev, a.right-next")]
        assert links == [f"{other}.html" for other in (before, after) if other], name


def test_the_contents_mark_the_page_that_one_is_on(site: Path) -> None:
    for name in PAGES:
        marked = parsed(site, name).select(".bd-links li.current > a")
        assert [link["href"] for link in marked] == ["#"], name


def test_headings_figures_and_tables_have_permanent_links(site: Path) -> None:
    named = "section[id] > :is(h1, h2, h3, h4), figure[id] > figcaption, table[id] > caption"
    bare = [(name, part.get_text()[:60]) for name in PAGES for part in parsed(site, name).select(f"article :is({named})")
            if not part.select_one('a.headerlink[href^="#"]')]
    assert bare == []


@pytest.mark.parametrize(("label", "legible"), [
    ('<text y="9">x</text>', True),
    ('<text y="9" fill-opacity="0.4">x</text>', False),
    ('<g opacity="0.7"><g opacity="0.6"><text y="9">x</text></g></g>', False),
    ('<rect width="20" height="20" fill="#555" fill-opacity="0.9"/><text y="9">x</text>', False),
    ('<g opacity="0.1"><rect width="20" height="20" fill="#555"/></g><text y="9">x</text>', True),
])
def test_a_label_is_as_faint_as_it_looks(browser: Any, label: str, legible: bool) -> None:
    page = browser.new_page()
    page.set_content(f'<body style="background: #fff"><article><svg class="figure" viewBox="0 0 20 20">{label}</svg></article>')
    assert (page.evaluate(FIGURE_CONTRAST)[0][0] >= 4.5) is legible
    page.close()


# ---- what is taken out of the theme

def test_a_changed_theme_is_noticed() -> None:
    with pytest.raises(ExtensionError, match="no longer writes"):
        tidied('<html lang="en"><script defer src="_static/scripts/another.js"></script></html>')


def test_icons_are_found_in_both_notations() -> None:
    assert shown_icons('.fa-bolt:before{content:"\\f0e7"}.note{content:"\uf05a"}.x{content:"\\201c"}') == {0xF0E7, 0xF05A}


def test_figures_are_drawn_to_a_hundredth_of_a_point_without_a_sheet_of_their_own() -> None:
    page = ('<svg class="figure" aria-label="0.123456">' + FIGURE_STYLE + '<path d="M 1.234567 -0.005432 L 10 2.5" style="stroke-width: 0.123456"/>'
            '<text x="3.999999" transform="scale(0.123456)">0.123456</text></svg><path d="M 1.234567 0"/>')
    assert lighter(page) == page.replace("M 1.234567 -0.005432", "M 1.23 -0.01", 1).replace("3.999999", "4.00").replace(FIGURE_STYLE, "")
