"""Sphinx extension: pages come with the outputs of their last run, prose quotes what they measured.

Sphinx never executes anything here. Its reader for pages takes the executed notebook from the
results, writes the ledger, the status and the times where a page asks for them, and the role `measured` quotes.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pybtex.plugin
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

from lessonlib.book import ledger
from lessonlib.book.execute import Results
from lessonlib.book.expected import hidden_outputs
from lessonlib.book.page_times import recorded_seconds, times
from lessonlib.book.pages import PROFILE_VARIABLE, Page, Project
from lessonlib.book.permalinks import link_to_number
from lessonlib.book.quote import TARGET, quoted
from lessonlib.measure import MEASUREMENT_MIME

STATUS = "status.md"  # in the build folder: what the status page shows
TOLD = "told.json"  # in the build folder: what the build tells Sphinx of the runs
ROOT_VARIABLE = "LESSONLIB_ROOT"  # set by the build, which runs Sphinx in a process of its own
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "−0123456789")


@functools.cache
def results() -> Results:
    """The results of the build that runs this Sphinx."""
    return Results(Project(Path(os.environ[ROOT_VARIABLE])), os.environ.get(PROFILE_VARIABLE, "default"))


@functools.cache
def pages() -> dict[str, Page]:
    """The pages of the book, by name."""
    return {page.name: page for page in results().project.pages()}


@functools.cache
def told() -> dict[str, Any]:
    """What the build says of the runs, so that Sphinx need not read them all again; see `build.tell`."""
    return json.loads((results().project.build / TOLD).read_text("utf8"))


def measurements() -> dict[str, Any]:
    """All measurements of the book, by name."""
    return told()["measurements"]


def completed(text: str) -> str:
    """The source of a page with the ledger and the status where it asks for them."""
    for place, write in GENERATED.items():
        text = text.replace(place, write()) if place in text else text
    return text


def read_page(text: str) -> nbformat.NotebookNode:
    """MyST-NB's reader for `.md` files: the page with its outputs, without what only the build reads.

    Each cell is told the names of what it measured, for their addresses.
    """
    notebook = results().notebook(Page("", completed(text)))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata["measured"] = [item["name"] for item in hidden_outputs(cell, MEASUREMENT_MIME)]
            cell.outputs = [output for output in cell.outputs if not any(
                mime.startswith("application/vnd.lessonlib.") for mime in output.get("data", {}))]
    notebook.metadata.pop("lessonlib", None)
    return notebook


class MeasuredRole(SphinxRole):
    """Quotes a measurement: {measured}`race-gru-curve[19]:.3f`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            shown = quoted(measurements(), self.text)
        except ValueError as error:
            message = self.inliner.reporter.warning(f"measured: {error}", line=self.lineno)
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]
        mantissa, times, power = shown.partition(" × 10")
        node = nodes.inline(self.rawtext, mantissa + times)
        if times:
            node += nodes.superscript("", power.translate(SUPERSCRIPTS))
        name = TARGET.match(self.text)["name"]
        page, cell = told()["origins"][name]
        return [link_to_number(node, name, page, cell, self.env.docname)], []


class TimesDirective(SphinxDirective):
    """How long a page takes to read and to run."""

    def run(self) -> list[nodes.Node]:
        name = self.env.docname
        return [nodes.paragraph("", "", nodes.emphasis("", times(pages()[name], recorded_seconds(results().project, name))))]


@functools.cache
def ledger_text() -> str:
    """The figures of the sources beside what this build measured."""
    titles = {name: page.title for name, page in pages().items()}
    return ledger.table(ledger.load(results().project.expected / "sources.yml"), measurements(), list(titles), titles)


@functools.cache
def status_text() -> str:
    """What this build executed and checked, as it left it: versions, seconds, memory, numbers, drift, claims."""
    return (results().project.build / STATUS).read_text("utf8")


GENERATED = {"```{ledger}\n```": ledger_text, "```{status}\n```": status_text}


def page_state(name: str) -> str:
    """A hash of what a page shows: its text with ledger and status, its outputs, its run time, and the measurements that it quotes."""
    text = completed(pages()[name].text)
    quoted_names = re.findall(r"\{measured\}`([a-z0-9.-]+)", text)
    values = [(measurements().get(name), told()["origins"].get(name)) for name in quoted_names]
    state = [told()["runs"].get(name), text, values, recorded_seconds(results().project, name)]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()


def outdated(app: Sphinx, env: Any, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """Pages to read again because their outputs, or what they quote, changed.

    At least one: Sphinx copies no scripts and styles into the new site where it finds nothing to do.
    """
    known: dict[str, str] = getattr(env, "page_states", {})
    env.page_states = {name: page_state(name) for name in pages()}
    found = [name for name, state in env.page_states.items() if known.get(name) != state]
    return found if found or added or changed else [app.config.root_doc]


def shown_elsewhere(env: Any) -> str:
    """A hash of what pages show of each other: titles, labels, terms, numbers, citations, and the files beside the pages."""
    labels, maths = env.get_domain("std"), env.get_domain("math")
    book = results().project.book
    shown = [{name: title.astext() for name, title in env.titles.items()}, labels.labels, labels.anonlabels, labels.objects,
             maths.equations, env.toc_secnumbers, env.toc_fignumbers,
             {path.relative_to(book).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
              for path in book.rglob("*") if path.is_file() and path.suffix not in (".md", ".ipynb")}]
    return hashlib.sha256(repr([sorted(part.items()) for part in shown]).encode()).hexdigest()


def dependents(app: Sphinx, env: Any) -> list[str]:
    """All pages, to be written again, where something changed that pages show of each other or link to."""
    known, env.shown_elsewhere = getattr(env, "shown_elsewhere", None), shown_elsewhere(env)
    return [] if known == env.shown_elsewhere else sorted(env.found_docs)


def add_explorers(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Load the script of an interactive figure, and before it what all of them share, on the pages that have one."""
    kinds = sorted(set(re.findall(r'data-explorer="([a-z-]+)"', context.get("body", ""))))
    for name in ["explorer", *kinds] if kinds else []:
        app.add_js_file(f"{name}.js", loading_method="defer")


# Citations ask for pybtex's plugins by the hundred, and each time it searches all installed packages for them.
pybtex.plugin._load_entry_point = functools.cache(pybtex.plugin._load_entry_point)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_role("measured", MeasuredRole())
    app.add_directive("times", TimesDirective)
    app.connect("env-get-outdated", outdated)
    app.connect("env-get-updated", dependents, priority=900)  # after figures and sections have their numbers
    app.connect("html-page-context", add_explorers)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
