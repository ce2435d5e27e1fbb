"""The built site for readers who hear it, who have no mouse, or whom motion disturbs: axe on every page, a walk by keyboard, stillness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import visit
from built import EXTRA, PAGES, heaviest, hosted
from probes import EMPTY_DRAWINGS, FOCUS_UNSEEN, FOCUSABLE, FOLLOW_FOCUS, MOVING, NOT_REACHED, OPEN_ALL, THIN_CODE

STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
AXE = {"light": {"runOnly": STANDARDS, "resultTypes": ["violations"]},
       "dark": {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}, "resultTypes": ["violations"]}}


@pytest.fixture(scope="module")
def place(site: Path, browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Gives the address of a page."""
    with hosted(site, tmp_path_factory.mktemp("host")) as address_of:
        yield address_of


def prepare(page: Any) -> None:
    """Show what is folded away, and spare axe what says nothing new."""
    for change in (OPEN_ALL, EMPTY_DRAWINGS, THIN_CODE):
        page.evaluate(change)


def violations(page: Any, theme: str) -> list[tuple[str, str]]:
    """What axe finds in a theme, as rule and place."""
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    found = Axe().run(page, options=AXE[theme]).response["violations"]
    return [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found]


@pytest.mark.parametrize("name", [*PAGES, *EXTRA])
def test_accessible_in_both_themes(browser: Any, place: Callable[[str], str], name: str) -> None:
    with visit(browser, place(name), color_scheme="light") as seen:
        prepare(seen.page)
        assert {theme: found for theme in AXE if (found := violations(seen.page, theme))} == {}


@pytest.mark.parametrize("theme", AXE)
def test_faint_text_is_noticed(browser: Any, place: Callable[[str], str], theme: str) -> None:
    with visit(browser, place("reading-this-book"), color_scheme="light") as seen:
        prepare(seen.page)
        for part in (".highlight .k", ".highlight .s2", ".cell_output pre", ".bd-links a"):
            faint = seen.page.add_style_tag(content=f"{part} {{ color: #888 !important; background: #777 !important; }}")
            assert "color-contrast" in dict(violations(seen.page, theme)), part
            faint.evaluate("e => e.remove()")


# ---- by keyboard

def test_skip_link_leads_to_the_text(browser: Any, place: Callable[[str], str]) -> None:
    with visit(browser, place("index")) as seen:
        seen.page.keyboard.press("Tab")
        assert seen.page.evaluate("document.activeElement.getAttribute('href')") == "#main-content"


def test_the_keyboard_reaches_everything_and_shows_where_it_is(browser: Any, place: Callable[[str], str], site: Path) -> None:
    with visit(browser, place(heaviest(site))) as seen:
        seen.page.wait_for_load_state("networkidle")
        seen.page.evaluate(FOLLOW_FOCUS)
        for _ in range(seen.page.evaluate(f"{FOCUSABLE}.length") + 50):
            seen.page.keyboard.press("Tab")
        assert seen.page.evaluate(NOT_REACHED) == []
        assert seen.page.evaluate(FOCUS_UNSEEN) == []


def test_menus_open_by_keyboard(browser: Any, place: Callable[[str], str]) -> None:
    with visit(browser, place("02-recurrent-network")) as seen:
        menus = seen.page.locator(".bd-header-article .dropdown-toggle")
        assert menus.count() >= 3  # launch, repository, download
        for menu in menus.all():
            menu.focus()
            seen.page.keyboard.press("Enter")
            seen.page.keyboard.press("ArrowDown")
            entry = "document.activeElement.matches('.dropdown-menu.show .dropdown-item')"
            assert seen.page.evaluate(entry), menu.get_attribute("aria-label")
            seen.page.keyboard.press("Escape")
            assert menu.evaluate("e => e === document.activeElement && e.ariaExpanded === 'false'")


# ---- motion

@pytest.mark.parametrize("wish", ["reduce", "no-preference"])
def test_nothing_moves_for_readers_who_ask_for_stillness(browser: Any, place: Callable[[str], str], site: Path, wish: str) -> None:
    with visit(browser, place(heaviest(site)), reduced_motion=wish) as seen:
        moving = seen.page.evaluate(MOVING)
        assert moving == [] if wish == "reduce" else moving, "with no such wish the same probe finds what moves"
