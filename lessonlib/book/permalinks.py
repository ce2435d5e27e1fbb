"""Sphinx extension: every cell, measured number and exercise has a permanent address, and a quoted number leads to its own."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

EXERCISES = re.compile(r"\bexercises\b|\bthings to try\b", re.IGNORECASE)  # in the title of a section
NUMBERED = re.compile(r"Exercise (\d+)")


def cell_id(name: str) -> str:
    """The anchor of a cell in its page."""
    return f"cell-{name.replace('.', '-')}"


def number_id(name: str) -> str:
    """The anchor of a measurement in the page that measures it."""
    return f"number-{name.replace('.', '-')}"


def link_to_number(shown: nodes.inline, name: str, page: str, cell: str, here: str) -> nodes.reference:
    """A quoted number as a link to its place in the cell that measured it, on this page or another."""
    address = f"#{number_id(name)}" if page == here else f"{page}.html#{number_id(name)}"
    return nodes.reference("", "", *shown.children, internal=True, refuri=address, classes=["measured"],
                           reftitle=f"Measured by the cell {cell}; permanent address of this number")


def sign(anchor: str, title: str) -> nodes.raw:
    """A sign that links to an anchor, as headings have, and says what for."""
    title = html.escape(title)
    return nodes.raw("", f'<a class="headerlink" href="#{anchor}" title="{title}" aria-label="{title}">#</a>', format="html")


def give_cells_addresses(doctree: nodes.document) -> None:
    """Give each cell its anchor, an anchor for each number that it measured, and a sign at its end."""
    for cell in doctree.findall(nodes.container):
        told = cell.get("cell_metadata", {})
        if cell.get("nb_element") == "cell_code" and told.get("name"):
            anchor = cell_id(told["name"])
            cell["ids"].append(anchor)
            cell[:0] = [nodes.inline(ids=[number_id(name)], classes=["number-address"]) for name in told.get("measured", [])]
            cell += sign(anchor, f"Cite these numbers: permanent link to the cell {told['name']}")


def exercises(section: nodes.section) -> Iterator[tuple[int, nodes.Element]]:
    """The exercises of a section after their numbers: items of numbered lists, and paragraphs with a bold "Exercise 3"."""
    for part in section.children:
        if isinstance(part, nodes.enumerated_list):
            yield from enumerate(part.children, int(part.get("start", 1)))
        elif isinstance(part, nodes.paragraph):
            yield from ((int(found[1]), part) for bold in part.findall(nodes.strong) if (found := NUMBERED.fullmatch(bold.astext())))


def give_exercises_addresses(doctree: nodes.document) -> None:
    """Give each exercise its anchor and a sign, so that a teacher can set it by a link."""
    for section in doctree.findall(nodes.section):
        if EXERCISES.search(section[0].astext()):
            for number, exercise in exercises(section):
                exercise["ids"].append(f"exercise-{number}")
                text = next(exercise.findall(nodes.paragraph))  # itself, if it is one
                text += sign(f"exercise-{number}", f"Permanent link to exercise {number}")


def give_addresses(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    give_cells_addresses(doctree)
    give_exercises_addresses(doctree)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", give_addresses)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
