"""Sphinx extension: every cell has a permanent address, and every quoted number leads to the cell that measured it."""

from __future__ import annotations

import html
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def cell_id(name: str) -> str:
    """The anchor of a cell in its page."""
    return f"cell-{name.replace('.', '-')}"


def link_to_cell(shown: nodes.inline, page: str, cell: str, here: str) -> nodes.reference:
    """A quoted number as a link to the cell that measured it, on this page or another."""
    address = f"#{cell_id(cell)}" if page == here else f"{page}.html#{cell_id(cell)}"
    return nodes.reference("", "", *shown.children, internal=True, refuri=address, classes=["measured"],
                           reftitle=f"Measured by the cell {cell}")


def give_cells_addresses(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give each cell its anchor, and a sign that links to it, as headings have."""
    for cell in doctree.findall(nodes.container):
        name = cell.get("cell_metadata", {}).get("name")
        if cell.get("nb_element") == "cell_code" and name:
            cell["ids"].append(cell_id(name))
            cell += nodes.raw("", f'<a class="headerlink" href="#{cell_id(name)}" '
                              f'title="Permanent link to the cell {html.escape(name)} and its numbers">#</a>', format="html")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", give_cells_addresses)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
