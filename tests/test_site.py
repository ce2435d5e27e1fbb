"""The built site in a browser: alone on its machine, light and dark, on a phone, by keyboard, without a script."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import PHONE, Visit, visit
from bs4 import BeautifulSoup
from sphinx.errors import ExtensionError

from lessonlib.book.pages import Project
from lessonlib.book.site_tidy import FIGURE_STYLE, lighter, shown_icons, tidied

PAGES = Project(Path(__file__).resolve().parent.parent).page_names()
EXPLORER_PAGE = "04-vanishing-gradients"
KILOBYTES, REQUESTS = 400, 25  # of a page, images aside
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
AXE = {"light": {"runOnly": STANDARDS, "resultTypes": ["violations"]},
       "dark": {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}, "resultTypes": ["violations"]}}
IMAGE = re.compile(r"\.(svg|png|jpg|ico)(\?|$)")

# Text that a reader sees, source code aside.
READ_TEXT = """() => {
  const copy = document.querySelector("article").cloneNode(true);
  copy.querySelectorAll("script, style, math, .cell_input, .highlight-python, .highlight-ipython3, .highlight-yaml, " +
    ".highlight-md, .highlight-bash, .highlight-text, .highlight-default, :not(pre) > code").forEach(e => e.remove());
  return copy.textContent;
}"""

# Contrast of each text of each figure with what lies behind it, shapes of the figure included, as [ratio, text], lowest first.
FIGURE_CONTRAST = """() => {
  const channels = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => (Array.isArray(c) ? c : channels(c)).slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = e => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor, [, , , alpha = 1] = channels(colour);
      if (alpha > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const under = text => {
    const svg = text.closest("svg"), box = text.getBoundingClientRect();
    const middle = new DOMPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    let colour = channels(behind(svg)).slice(0, 3);
    for (const shape of svg.querySelectorAll("path, rect, circle, polygon")) {
      const style = getComputedStyle(shape), before = shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING;
      if (!before || style.fill === "none" || shape.closest("defs, clipPath")) continue;
      if (!shape.isPointInFill(middle.matrixTransform(shape.getScreenCTM().inverse()))) continue;
      const alpha = style.fillOpacity * style.opacity * (channels(style.fill)[3] ?? 1);
      colour = colour.map((v, i) => alpha * channels(style.fill)[i] + (1 - alpha) * v);
    }
    return colour;
  };
  return [...document.querySelectorAll("article svg.figure text, article svg.figure tspan, article .explorer svg text")]
    .filter(t => t.textContent.trim()).map(t => {
      const [a, b] = [light(getComputedStyle(t).fill), light(under(t))].sort((x, y) => y - x);
      return [(a + 0.05) / (b + 0.05), t.textContent];
    }).sort((x, y) => x[0] - y[0]);
}"""

# Boxes that scroll sideways and that the keyboard cannot reach.
OUT_OF_REACH = """() => [...document.querySelectorAll("article *")].filter(e =>
    e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1 && /auto|scroll/.test(getComputedStyle(e).overflowX)
    && e.tabIndex < 0 && !e.querySelector("a, button, input, select, summary, [tabindex='0']"))
  .map(e => e.outerHTML.slice(0, 120))"""

# Drawings are images to axe, which takes a minute to look at each of their lines; FIGURE_CONTRAST measures their text.
EMPTY_DRAWINGS = """() => document.querySelectorAll("svg, math")
  .forEach(e => e.replaceChildren(...e.querySelectorAll(":scope > title")))"""

OPEN_ALL = "() => document.querySelectorAll('details').forEach(e => e.open = true)"


@pytest.fixture(scope="module", params=PAGES)
def opened(request: pytest.FixtureRequest, browser: Any, address: str) -> Iterator[Visit]:
    """One page, opened once for all the tests that only look at it."""
    with visit(browser, f"{address}/{request.param}.html", color_scheme="light") as seen:
        seen.page.wait_for_load_state("networkidle")
        yield seen


@cache
def parsed(site: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((site / f"{name}.html").read_text("utf8"), "html.parser")


@cache
def ids(site: Path, name: str) -> set[str]:
    return {element["id"] for element in parsed(site, name).select("[id]")}


# ---- every page, as it stands

def test_page_asks_for_nothing_foreign_and_reports_nothing(opened: Visit) -> None:
    assert opened.foreign == [] and opened.errors == []


def test_page_is_light(opened: Visit) -> None:
    sizes = opened.page.evaluate("""() => [...performance.getEntriesByType("navigation"),
        ...performance.getEntriesByType("resource")].map(e => [e.name, e.encodedBodySize])""")
    weighed = [(name, size) for name, size in sizes if not IMAGE.search(name)]
    assert sum(size for _, size in weighed) <= KILOBYTES * 1000, sorted(weighed, key=lambda entry: -entry[1])[:5]
    assert len(weighed) <= REQUESTS, [name for name, _ in weighed]


def test_text_is_for_readers(opened: Visit) -> None:
    text = opened.page.evaluate(READ_TEXT)
    for raw in (r"\\[a-zA-Z]{2,}", r"\$[^\s$][^$\n]*\$", r"\{[a-z:]+\}`", r"np\.\w+\(", r"\b(tensor|array)\(", r"<Figure size", r"<\w+ object at"):
        assert not (found := re.search(raw, text)), f"{raw}: {text[max(0, found.start() - 60):found.end() + 60]!r}"


def test_figures_say_what_they_show(opened: Visit) -> None:
    alts = opened.page.eval_on_selector_all(
        "article svg.figure:not(.explorer *), article img",
        "found => found.map(e => e.getAttribute('aria-label') ?? e.getAttribute('alt') ?? '')")
    assert [alt for alt in alts if not 20 <= len(alt) <= 250] == []


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


@pytest.mark.parametrize("name", PAGES)
def test_accessible_in_both_themes(browser: Any, address: str, name: str) -> None:
    with visit(browser, f"{address}/{name}.html", color_scheme="light") as seen:
        seen.page.evaluate(OPEN_ALL)
        seen.page.evaluate(EMPTY_DRAWINGS)
        for theme, options in AXE.items():
            seen.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            violations = Axe().run(seen.page, options=options).response["violations"]
            assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in violations] == [], theme


@pytest.mark.parametrize("name", PAGES)
def test_fits_a_phone(browser: Any, address: str, name: str) -> None:
    with visit(browser, f"{address}/{name}.html", viewport=PHONE) as seen:
        seen.page.evaluate(OPEN_ALL)
        assert seen.page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
        seen.page.wait_for_timeout(300)  # the theme makes wide code reachable a moment after the page has loaded
        assert seen.page.evaluate(OUT_OF_REACH) == []


@pytest.mark.parametrize("name", PAGES)
def test_opens_from_a_disk(browser: Any, site: Path, name: str) -> None:
    with visit(browser, (site / f"{name}.html").as_uri()) as seen:
        assert seen.foreign == [] and seen.errors == []
        assert seen.page.locator("article h1").first.is_visible()


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


# ---- the site at work

@pytest.mark.parametrize("by", ["http", "file"])
def test_search_finds_a_page(browser: Any, address: str, site: Path, by: str) -> None:
    base = address if by == "http" else site.as_uri()
    with visit(browser, f"{base}/search.html?q=singular") as seen:
        seen.page.wait_for_selector("#search-results li a", timeout=10_000)
        found = seen.page.eval_on_selector_all("#search-results li a", "found => found.map(e => e.href)")
        assert any(EXPLORER_PAGE in link for link in found) and seen.foreign == []


def test_search_opens_by_keyboard(browser: Any, address: str) -> None:
    with visit(browser, f"{address}/index.html") as seen:
        seen.page.keyboard.press("Control+k")
        seen.page.keyboard.type("singular")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_selector("#search-results li a", timeout=10_000)
        assert "search.html?q=singular" in seen.page.url and seen.errors == []


@pytest.mark.parametrize("system", ["light", "dark"])
def test_theme_follows_the_system_until_the_reader_chooses(browser: Any, address: str, system: str) -> None:
    with visit(browser, f"{address}/index.html", color_scheme=system) as seen:
        theme = "document.documentElement.dataset.theme"
        assert seen.page.evaluate(theme) == system
        other = {"light": "dark", "dark": "light"}[system]
        for _ in range(3):
            if seen.page.evaluate(theme) != other:
                seen.page.locator(".theme-switch-button:visible").first.click()
        assert seen.page.evaluate(theme) == other
        seen.page.goto(f"{address}/{PAGES[-1]}.html")
        assert seen.page.evaluate(theme) == other


def test_skip_link_leads_to_the_text(browser: Any, address: str) -> None:
    with visit(browser, f"{address}/index.html") as seen:
        seen.page.keyboard.press("Tab")
        assert seen.page.evaluate("document.activeElement.getAttribute('href')") == "#main-content"


def test_paper_has_the_text_alone(browser: Any, address: str) -> None:
    with visit(browser, f"{address}/{EXPLORER_PAGE}.html") as seen:
        seen.page.emulate_media(media="print")
        for part in (".bd-sidebar-primary", ".bd-header-article", ".prev-next-footer"):
            assert not seen.page.locator(part).first.is_visible(), part
        answers = seen.page.locator("details.sd-dropdown > :not(summary)")
        assert answers.count() and all(answers.nth(k).bounding_box()["height"] > 0 for k in range(answers.count()))


# ---- the explorer of the gradient's flow

EXPLORER = '.explorer[data-explorer="gradient-flow"]'


def test_explorer_works_by_keyboard(browser: Any, address: str) -> None:
    with visit(browser, f"{address}/{EXPLORER_PAGE}.html") as seen:
        explorer = seen.page.locator(EXPLORER).first
        controls = explorer.locator("input, select, button")
        assert controls.count() >= 2
        for k in range(controls.count()):
            control, before = controls.nth(k), explorer.inner_html()
            controls.nth(k - 1).focus() if k else control.focus()
            if k:
                seen.page.keyboard.press("Tab")
            assert control.evaluate("e => e === document.activeElement"), "the keyboard passes the controls in order"
            assert control.evaluate("e => getComputedStyle(e).outlineStyle") != "none", "focus is visible"
            assert control.evaluate("e => e.labels.length > 0 || !!e.ariaLabel || e.textContent.trim() !== ''")
            value = control.input_value() if control.evaluate("e => 'value' in e") else ""
            seen.page.keyboard.press("ArrowDown")
            if control.input_value() == value:  # at its end
                seen.page.keyboard.press("ArrowUp")
            assert control.input_value() != value and explorer.inner_html() != before
        assert seen.errors == []


def test_explorer_says_its_piece_without_a_script(browser: Any, address: str) -> None:
    with visit(browser, f"{address}/{EXPLORER_PAGE}.html", java_script_enabled=False) as seen:
        explorer = seen.page.locator(EXPLORER).first
        figure = explorer.locator("svg.figure")
        assert figure.is_visible() and 20 <= len(figure.get_attribute("aria-label")) <= 250
        assert "Fixed view" in explorer.locator("p").inner_text()
        assert explorer.locator("input, select, button").count() == 0


def test_page_reads_without_a_script(browser: Any, address: str) -> None:
    with visit(browser, f"{address}/{EXPLORER_PAGE}.html", java_script_enabled=False, color_scheme="dark") as seen:
        assert seen.page.locator("div.math.display svg").first.is_visible()
        details = seen.page.locator("details.sd-dropdown")
        assert details.count() and all(details.nth(k).get_attribute("open") is None for k in range(details.count()))
        details.first.locator("summary").click()
        assert details.first.locator(":scope > :not(summary)").first.is_visible()
        assert seen.page.evaluate("getComputedStyle(document.body).color") == "rgb(34, 40, 50)", "the light theme"
