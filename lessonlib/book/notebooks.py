"""Pages as notebooks that read well in plain JupyterLab: prose without markup of the site, cells as they are.

`python -m lessonlib.book notebooks FOLDER` writes them. In a fresh clone nothing was executed; the
numbers in the text then come from `tests/expected`, and the cells have no outputs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from lessonlib.book import citations
from lessonlib.book.execute import Results, write_whole
from lessonlib.book.expected import hidden_outputs, load
from lessonlib.book.memory import remembered
from lessonlib.book.page_times import recorded_seconds
from lessonlib.book.pages import BookError, Page, Project
from lessonlib.book.plain_directives import caption
from lessonlib.book.plain_markdown import Context, Label, Writer
from lessonlib.measure import MEASUREMENT_MIME

HIDDEN = "application/vnd.lessonlib."
FOLDED = {"hide-input", "remove-input", "hide-cell", "remove-cell"}
LANGUAGE = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"}}


def context(project: Project, measurements: dict[str, Any]) -> Context:
    """All that the pages of a project may refer to; each page is read once to collect its labels."""
    bibliography = citations.load(project.book / "references.bib")
    seconds = {name: recorded_seconds(project, name) for name in project.page_names()}
    found = Context(measurements, bibliography, seconds, folder=project.book, complete=False)
    quoted = repr(measurements)
    for page in project.pages():
        title, labels = remembered("labels", page.name, (page.text, quoted), lambda page=page: labelled(page, found))
        found.titles[page.name] = title
        for label, meaning in labels.items():
            if label in found.labels:
                raise BookError(f"book/{page.name}.md: the label {label} stands in book/{found.labels[label].page}.md too")
            found.labels[label] = meaning
    found.complete = True
    return found


def labelled(page: Page, context: Context) -> tuple[str, dict[str, Label]]:
    """The title of a page, and what its labels stand for."""
    writer = Writer(page, context)
    plain_cells(writer, page.notebook)
    return writer.title or page.name, writer.labels


def readable(page: Page, notebook: NotebookNode, context: Context) -> NotebookNode:
    """A page's notebook with its prose in plain Markdown.

    Parameters
    ----------
    notebook : NotebookNode
        The notebook of the page, with outputs or without; it stays as it is.
    context : Context
        As made by `context`.

    Returns
    -------
    NotebookNode
        Code cells unchanged but for what only the site needs; a caption below each figure, and the
        references at the end.

    Raises
    ------
    BookError
        If the prose holds a role or a directive without a plain form, or refers to what does not
        exist; it names page and line.
    """
    writer = Writer(page, context)
    cells = plain_cells(writer, notebook)
    if writer.cited:
        entries = "\n".join(f"- {entry}" for entry in context.bibliography.references(writer.cited))
        cells.append(nbformat.v4.new_markdown_cell(f"## References\n\n{entries}"))
    for index, cell in enumerate(cells):
        cell["id"] = f"cell-{index:03d}"
    return nbformat.v4.new_notebook(cells=cells, metadata=nbformat.from_dict(LANGUAGE))


def plain_cells(writer: Writer, notebook: NotebookNode) -> list[NotebookNode]:
    """The cells of a page in plain form, with the captions of figures as cells of their own."""
    cells = []
    for cell, line in zip(notebook.cells, first_lines(writer.page), strict=True):
        if cell.cell_type != "code":
            text = writer.text(cell.source, line).strip("\n")
            if text:
                cells.append(nbformat.v4.new_markdown_cell(text))
            continue
        cells.append(plain_code(cell))
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        if figure.get("caption"):
            text = caption(writer, "figure", figure.get("name"), figure["caption"], line)
            cells.append(nbformat.v4.new_markdown_cell(text))
    return cells


def first_lines(page: Page) -> list[int]:
    """Where the text of each cell of a page begins, counted from 1; blank lines before it belong to no cell."""
    lines, starts = page.text.split("\n"), list(page.notebook.metadata["source_map"])
    for index, start in enumerate(starts):
        while start < len(lines) and not lines[start].strip():
            start += 1
        starts[index] = start + 1
    return starts


def plain_code(cell: NotebookNode) -> NotebookNode:
    """A code cell with its name and tags; what the site folds away is folded in JupyterLab too."""
    plain = nbformat.from_dict(cell)
    plain.metadata.pop("mystnb", None)
    if FOLDED & set(plain.metadata.get("tags", [])):
        plain.metadata["jupyter"] = nbformat.from_dict({"source_hidden": True})
    plain.outputs = [shown for shown in map(plain_output, plain.outputs) if shown is not None]
    return plain


def plain_output(output: NotebookNode) -> NotebookNode | None:
    """An output as a notebook holds it; None if only the build reads it.

    A figure becomes an image in place of HTML, which JupyterLab would strip from a notebook that
    it does not trust: there the description is shown. The image brings its size and its paper.
    """
    data = output.get("data", {})
    for mime in [mime for mime in data if mime.startswith(HIDDEN)]:
        del data[mime]
    if "data" in output and not data:
        return None
    output.get("metadata", {}).pop("lessonlib", None)
    svg = data.get("text/html", "").strip()
    size = re.match(r'<svg [^>]*viewBox="\S+ \S+ (\S+) (\S+)"', svg)
    if size and svg.endswith("</svg>"):
        del data["text/html"]
        width, height = (round(float(points) * 4 / 3) for points in size.groups())
        data["image/svg+xml"] = svg.replace(
            "<svg ", f'<svg width="{width}" height="{height}" style="background: #ffffff; color: #000000" ', 1)
    return output


def measured(project: Project, results: Results | None) -> dict[str, Any]:
    """All measurements by name: of the last run, or as recorded for a page that has none."""
    values: dict[str, Any] = {}
    for page in project.pages():
        if results is not None and results.has(page):
            for cell in results.notebook(page).cells:
                values |= {item["name"]: item["value"] for item in hidden_outputs(cell, MEASUREMENT_MIME)}
        elif record := load(project, page.name):
            values |= {name: item.value for name, item in record.measurements.items()}
    return values


def write_notebooks(project: Project, results: Results | None, folder: Path) -> list[Path]:
    """Write every page as a notebook into a folder.

    Parameters
    ----------
    results : Results, optional
        Where the outputs come from; a page that was not executed gets none.

    Returns
    -------
    list of Path
        The files, in the order of the book.

    Raises
    ------
    BookError
        If the folder cannot be written, or as `readable` does.
    """
    book = context(project, measured(project, results))
    paths = []
    for page in project.pages():
        source = results.notebook(page) if results is not None and results.has(page) else page.notebook
        paths.append(Path(folder) / f"{page.name}.ipynb")
        text = nbformat.writes(readable(page, source, book)) + "\n"
        try:
            write_whole(paths[-1], text)
        except OSError as error:
            raise BookError(f"nothing can be written in {folder} ({error.strerror}); name a folder of your own: "
                            "python -m lessonlib.book notebooks FOLDER") from error
    return paths
