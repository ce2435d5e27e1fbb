"""The built site at work: where one is, copies, downloads, search, themes, paper, an interactive figure, no script."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from browser import visit
from built import CODE_PAGES, PAGES, PROJECT

from lessonlib.book.expected import load
from lessonlib.book.printed import printed_text

EXPLORER_PAGE = "04-vanishing-gradients"
EXPLORER = '.explorer[data-explorer="gradient-flow"]'


# ---- where one is

def test_the_contents_of_a_page_mark_the_section_that_one_reads(browser: Any, address: str) -> None:
    with visit(browser, f"{address}/{EXPLORER_PAGE}.html") as seen:
        links = seen.page.locator("#pst-page-toc-nav > ul > li > ul > li > a, #pst-page-toc-nav > ul > li > a")
        for link in (links.nth(2), links.nth(1)):
            seen.page.evaluate("id => document.querySelector(id).scrollIntoView()", link.get_attribute("href"))
            seen.page.wait_for_function("e => e.classList.contains('active')", arg=link.element_handle(), timeout=5000)


# ---- what one may take along

def test_the_copy_button_copies_the_source_of_its_cell(browser: Any, address: str) -> None:
    page = PROJECT.pages(["02-recurrent-network"])[0]
    with visit(browser, f"{address}/{page.name}.html", permissions=["clipboard-read", "clipboard-write"]) as seen:
        cells = seen.page.locator("div.cell .cell_input .copybtn:visible")
        cells.first.focus()
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_selector(".copybtn.success")
        copied = seen.page.evaluate("navigator.clipboard.readText()").strip()
        assert copied and copied in {cell.source.strip() for cell in page.code_cells}


@pytest.mark.parametrize("name", CODE_PAGES)
def test_the_notebook_of_a_page_is_readable_and_has_its_outputs(site: Path, name: str) -> None:
    assert f'href="_sources/{name}.ipynb"' in (site / f"{name}.html").read_text("utf8")
    text = (site / "_sources" / f"{name}.ipynb").read_text("utf8")
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    assert "application/vnd.lessonlib" not in text
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert re.findall(r"\{[a-z:]+\}`[^`]*`|^:::+\{.*|^```+\{.*", prose, flags=re.MULTILINE) == []
    printed = {cell.metadata["name"]: printed_text(cell) for cell in notebook.cells if cell.cell_type == "code"}
    recorded = load(PROJECT, name).cells
    assert {cell for cell, text in printed.items() if text} == {cell for cell, shown in recorded.items() if shown.text and not cell.endswith(".drawn")}


# ---- the site at work

# ---- search and themes

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


# ---- paper and no script

def test_paper_has_the_text_alone(browser: Any, address: str) -> None:
    with visit(browser, f"{address}/{EXPLORER_PAGE}.html") as seen:
        seen.page.emulate_media(media="print")
        for part in (".bd-sidebar-primary", ".bd-header-article", ".prev-next-footer"):
            assert not seen.page.locator(part).first.is_visible(), part
        answers = seen.page.locator("details.sd-dropdown > :not(summary)")
        assert answers.count() and all(answers.nth(k).bounding_box()["height"] > 0 for k in range(answers.count()))


# ---- an interactive figure, with a script and without

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
