"""Cells, numbers and exercises have permanent addresses, found without a script and by keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import visit
from bs4 import BeautifulSoup
from conftest import ROOT, SmallBook
from docutils import nodes
from docutils.core import publish_doctree
from myst_parser.docutils_ import Parser

from lessonlib.book.expected import load
from lessonlib.book.pages import Project
from lessonlib.book.permalinks import give_exercises_addresses, link_to_number, number_id

PROJECT = Project(ROOT)
PAGES = PROJECT.page_names()
ANSWER = "````{note}\n1. One part.\n2. Another.\n````\n"


def page(site: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((site / f"{name}.html").read_text("utf8"), "html.parser")


# ---- exercises

def addressed(text: str) -> list[tuple[str, str]]:
    """The anchors of the exercises in a page, each with the beginning of what it leads to."""
    doctree = publish_doctree(text, parser=Parser())
    give_exercises_addresses(doctree)
    found = [(anchor, node) for node in doctree.findall(nodes.Element) for anchor in node["ids"] if anchor.startswith("exercise-")]
    for anchor, node in found:
        assert f'href="#{anchor}"' in next(node.findall(nodes.raw)).astext()
    return [(anchor, node.astext()[:5]) for anchor, node in found]


EXERCISES = {
    "a list": "1. First\n2. Second\n",
    "a list with answers between its items": f"1. First\n\n{ANSWER}\n2. Second\n\n{ANSWER}",
    "paragraphs": f"Key terms: a, b.\n\n**Exercise 1** (5 minutes). First?\n\n{ANSWER}\n**Exercise 2**. Second?\n",
}


@pytest.mark.parametrize("title", ["Exercises", "Key terms and exercises", "Things to try"])
@pytest.mark.parametrize("text", EXERCISES.values(), ids=EXERCISES.keys())
def test_each_exercise_has_an_address(title: str, text: str) -> None:
    found = addressed(f"# Page\n\n1. Before\n\n## {title}\n\n{text}\n\n## After\n\n1. After\n")
    assert [anchor for anchor, _ in found] == ["exercise-1", "exercise-2"]
    assert [begins for _, begins in found] in (["First", "Secon"], ["Exerc", "Exerc"])


def test_other_lists_have_none() -> None:
    assert addressed("# Page\n\n## The exercise\n\n1. First\n\n## Exercises\n\n- A point\n\n**Exercises** are hard.\n") == []


@pytest.mark.parametrize("name", PAGES)
def test_no_exercise_of_the_book_is_left_out(site: Path, name: str) -> None:
    part = re.search(r"(?ms)^## (?:[^\n]*exercises|Exercises|Things to try)\n(.*?)(?=^## |\Z)", PROJECT.pages([name])[0].text)
    written = re.findall(r"(?m)^(?:\*\*Exercise )?(\d+)(?:\*\*|\.) ", part[1]) if part else []
    shown = page(site, name).select('[id^="exercise-"]')
    assert [exercise["id"] for exercise in shown] == [f"exercise-{number}" for number in written]
    assert all(exercise.select_one(f'a.headerlink[href="#{exercise["id"]}"]') for exercise in shown)
    assert len(written) >= 4 or not re.match(r"\d|lab-", name)


# ---- numbers

def test_a_number_links_to_its_own_place() -> None:
    here = link_to_number(nodes.inline("", "0.5"), "race-loss-0.1", "race", "race-gru", "race")
    there = link_to_number(nodes.inline("", "0.5"), "race-loss-0.1", "race", "race-gru", "index")
    assert (here["refuri"], there["refuri"]) == ("#number-race-loss-0-1", "race.html#number-race-loss-0-1")
    assert here["reftitle"] == "Measured by the cell race-gru; permanent address of this number"


@pytest.mark.parametrize("name", PAGES)
def test_each_number_of_a_page_has_its_address_in_its_cell(site: Path, name: str) -> None:
    record, shown = load(PROJECT, name), page(site, name)
    for number, measured in (record.measurements if record else {}).items():
        anchor = shown.find(id=number_id(number))
        assert anchor and anchor.parent["id"] == f"cell-{measured.cell}".replace(".", "-"), number


def test_a_new_number_has_an_address_after_a_warm_build(book: SmallBook) -> None:
    book.replace("claim(", "record('small-twice', 2 * SPEED)\nclaim(")
    book.replace("Its load", "Twice that is {measured}`small-twice:.1f`. Its load")
    for command in (["accept", "index"], ["build"]):
        assert (run := book.press(*command)).status == 0, run.output
    shown = page(book.site, "index")
    assert [link["href"] for link in shown.select("a.measured")] == ["#number-small-speed", "#number-small-twice"]
    assert [anchor["id"] for anchor in shown.select("div.cell > .number-address")] == ["number-small-speed", "number-small-twice"]


# ---- in a browser, without a script

LAB = "lab-04-reversal"


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Any]:
    with visit(browser, f"{address}/{LAB}.html", java_script_enabled=False) as seen:
        yield seen.page


def test_signs_show_to_the_keyboard(opened: Any) -> None:
    for place in ("div.cell > .headerlink", '[id^="exercise-"] .headerlink'):
        sign = opened.locator(place).first
        assert sign.evaluate("e => getComputedStyle(e).opacity") == "0"
        sign.focus()
        assert sign.evaluate("e => e === document.activeElement && getComputedStyle(e).opacity") == "1"
        assert "ermanent link to" in sign.get_attribute("aria-label")


def test_what_a_link_leads_to_is_framed(opened: Any) -> None:
    opened.locator("a.measured").first.click()
    cell = opened.locator("div.cell:has(> :target)")
    assert cell.count() == 1 and cell.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    assert 0 <= cell.bounding_box()["y"] < 300
    opened.goto(opened.url.split("#")[0] + "#exercise-2")
    assert opened.locator(":target").evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
