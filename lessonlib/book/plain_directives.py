"""Directives of MyST as plain Markdown: block quotes, `<details>`, tables, displayed equations, code.

Each writer takes the `Writer` of the page, which keeps its numbers and labels, and one directive.
"""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import yaml
from markdown_it.token import Token
from sphinx.directives.code import LiteralIncludeReader

from lessonlib.book.page_times import times

if TYPE_CHECKING:
    from lessonlib.book.plain_markdown import Writer

OPENING = re.compile(r"\{(?P<name>[^}\s]+)\}\s*(?P<argument>.*)")
OPTION = re.compile(r":(?P<key>[\w-]+):(?:\s+(?P<value>.*))?")
MATHS = re.compile(r"\$\$.+?\$\$|\$(?:\\.|[^$\\])+\$", re.DOTALL)
ADMONITIONS = ("attention", "caution", "danger", "error", "hint", "important", "note", "seealso", "tip", "warning")
PROOFS = ("theorem", "lemma", "definition", "proposition", "corollary", "algorithm", "example", "remark", "property")
BOXES = ("card", "dropdown", "grid", "grid-item", "grid-item-card", "tab-item", "tab-set", "div", "container")
SITE_ONLY = ("bibliography", "ledger", "status", "tableofcontents", "toctree")


@dataclass(frozen=True)
class Directive:
    """A directive: its name, what follows on its line, its options, its content."""

    name: str
    argument: str
    options: dict[str, Any]
    body: str
    line: int  # of its opening in the page
    body_line: int

    def has_class(self, name: str) -> bool:
        return name in str(self.options.get("class", "")).split()

    @property
    def label(self) -> str | None:
        return self.options.get("label") or self.options.get("name")


def parse(token: Token, line: int) -> Directive | None:
    """The directive in a fence; None if it is a plain block of code."""
    opening = OPENING.fullmatch(token.info.strip())
    if opening is None:
        return None
    lines, options, used = token.content.rstrip("\n").split("\n"), {}, 0
    if lines[0].strip() == "---" and "---" in lines[1:]:
        used = lines.index("---", 1) + 1
        options = yaml.safe_load("\n".join(lines[1:used - 1])) or {}
    else:
        while used < len(lines) and (option := OPTION.fullmatch(lines[used].strip())):
            options[option["key"]] = option["value"] or ""
            used += 1
    return Directive(opening["name"], opening["argument"].strip(), options, "\n".join(lines[used:]), line, line + 1 + used)


def write(writer: Writer, directive: Directive) -> str:
    """A directive in plain Markdown.

    Raises
    ------
    BookError
        If it has no plain form here, or what it names does not exist.
    """
    if directive.name not in WRITERS:
        writer.fail(directive.line, f"the directive {{{directive.name}}} has no plain form; "
                    "teach it to lessonlib/book/plain_directives.py")
    return WRITERS[directive.name](writer, directive)


def content(writer: Writer, directive: Directive) -> str:
    return writer.text(directive.body, directive.body_line).strip("\n")


def title(writer: Writer, directive: Directive) -> str:
    return writer.inline(directive.argument, directive.line)


def prefixed(prefix: str, line: str) -> str:
    """A line after a prefix; an empty one leaves no blanks at the end."""
    return prefix + line if line else prefix.rstrip()


def quote(text: str) -> str:
    """A block quote. Mathematics go on one line each: JupyterLab takes them out before it sees the `>`."""
    joined = MATHS.sub(lambda match: " ".join(match[0].split()), text)
    return "\n".join(prefixed("> ", line) for line in joined.split("\n"))


def details(summary: str, text: str) -> str:
    """Folded text; the blank lines make JupyterLab read it as Markdown."""
    shown = html.escape(re.sub(r"[*`]", "", summary), quote=False)
    return f"<details>\n<summary>{shown}</summary>\n\n{text}\n\n</details>"


def display(formula: str, number: int | None = None) -> str:
    """A displayed equation, with its number where it has one."""
    formula = re.sub(r"\\(begin|end)\{(align|gather)\*?\}", r"\\\1{\2ed}", formula.strip())
    formula = re.sub(r"\n\s*\n", "\n", formula)
    bare = re.sub(r"\\begin\{(\w+\*?)\}.*?\\end\{\1\}", "", formula, flags=re.DOTALL)
    if r"\\" in bare or "&" in bare.replace(r"\&", ""):
        formula = f"\\begin{{split}}\n{formula}\n\\end{{split}}"
    tag = f" \\tag{{{number}}}" if number else ""
    return f"$$\n{formula}{tag}\n$$"


def write_maths(writer: Writer, directive: Directive) -> str:
    label = directive.label
    number = writer.define(label, "equation").number if label else None
    return display(f"{directive.argument}\n{directive.body}", number)


def write_admonition(writer: Writer, directive: Directive) -> str:
    """A note, a warning, a check, ...: a block quote, or folded text where its class is dropdown."""
    if directive.name in ADMONITIONS:
        head = {"seealso": "See also"}.get(directive.name, directive.name.capitalize())
        text = "\n".join(filter(None, [title(writer, directive), content(writer, directive)]))
    else:
        head, text = title(writer, directive), content(writer, directive)
    if directive.name == "dropdown" or directive.has_class("dropdown"):
        return details(head or "More", text)
    return quote(f"**{head}**\n\n{text}" if head else text)


def write_numbered(writer: Writer, directive: Directive) -> str:
    """An exercise, or a statement of sphinx-proof, under a bold title."""
    kind, name = directive.name.removeprefix("prf:").removesuffix("-start"), title(writer, directive)
    made = writer.define(directive.label, kind, name or None, numbered="nonumber" not in directive.options)
    head = f"**{kind.capitalize()}{f' {made.number}' if made.number else ''}**" + (f" ({name})" if name else "")
    text = content(writer, directive)
    return details(re.sub(r"\*", "", head), text) if directive.has_class("dropdown") else f"{head}\n\n{text}"


def write_solution(writer: Writer, directive: Directive) -> str:
    """A folded solution; one that spans code cells cannot be folded and gets a bold title."""
    solved = writer.context.labels.get(directive.argument, writer.labels.get(directive.argument))
    if solved is None and writer.context.complete:
        writer.unknown(directive.line, "exercise", directive.argument, writer.context.labels)
    head = f"Solution to {solved.name}" if solved else ""
    return f"**{head}**" if directive.name == "solution-start" else details(head, content(writer, directive))


def write_box(writer: Writer, directive: Directive) -> str:
    """Cards, grids, tabs and divisions: their contents one below the other, under bold titles."""
    body = re.sub(r"(?m)^(\^{3,}|\+{3,})[ \t]*$", "", directive.body)
    text = writer.text(body, directive.body_line).strip("\n")
    named = directive.name in ("card", "grid-item-card", "tab-item") and directive.argument
    head, link = title(writer, directive), directive.options.get("link")
    if named and link:
        kind = directive.options.get("link-type", "url")
        head = f"[{head}]({link})" if kind == "url" else writer.role(kind, f"{head} <{link}>", directive.line)
    return f"**{head}**\n\n{text}" if named else text


def write_figure(writer: Writer, directive: Directive) -> str:
    """An image; a figure also has a number and its content as the caption."""
    image = f"![{directive.options.get('alt', '')}]({directive.argument})"
    if directive.name == "image":
        return image
    return f"{image}\n\n{caption(writer, 'figure', directive.label, directive.body, directive.body_line)}"


def caption(writer: Writer, kind: str, label: str | None, source: str, line: int) -> str:
    """The numbered caption of a figure or a table."""
    text = writer.text(source.strip("\n"), line).strip()
    return f"**{writer.define(label, kind, text or None).name}.** {text}".rstrip()


def with_caption(writer: Writer, directive: Directive, table: str) -> str:
    if not (directive.argument or directive.label):
        return table
    return f"{caption(writer, 'table', directive.label, directive.argument, directive.line)}\n\n{table}"


def write_table(writer: Writer, directive: Directive) -> str:
    return with_caption(writer, directive, content(writer, directive))


def write_list_table(writer: Writer, directive: Directive) -> str:
    """A table written as a list of lists: `* - ` begins a row, `  - ` a cell."""
    rows: list[list[str]] = []
    for number, line in enumerate(directive.body.split("\n")):
        if start := re.match(r"[*-]\s+[-*](?:\s+|$)", line):
            rows.append([line[start.end():]])
        elif (start := re.match(r"\s+[-*](?:\s+|$)", line)) and rows:
            rows[-1].append(line[start.end():])
        elif line.strip() and rows:
            rows[-1][-1] += f" {line.strip()}"
        elif line.strip():
            writer.fail(directive.body_line + number, "a list-table begins with '* - '")
    return with_caption(writer, directive, markdown_table(writer, directive, rows))


def write_csv_table(writer: Writer, directive: Directive) -> str:
    """A table of comma-separated values in the page, or in a file beside it."""
    source = directive.body
    if "file" in directive.options:
        source = included(writer, directive, directive.options["file"]).read_text("utf8")
    rows = list(csv.reader(source.strip().split("\n"), skipinitialspace=True))
    if "header" in directive.options:
        rows = [*csv.reader([directive.options["header"]], skipinitialspace=True), *rows]
        directive.options["header-rows"] = 1
    return with_caption(writer, directive, markdown_table(writer, directive, rows))


def markdown_table(writer: Writer, directive: Directive, rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells in MyST as a Markdown table, with an empty head where it has none."""
    cells = [[writer.inline(cell.strip(), directive.line).replace("\n", " ") for cell in row] for row in rows]
    width = max(map(len, cells), default=1)
    if not int(directive.options.get("header-rows") or 0):
        cells.insert(0, [""] * width)
    cells.insert(1, ["---"] * width)
    return "\n".join(f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in cells)


def included(writer: Writer, directive: Directive, path: str) -> Path:
    """A file that a page names, relative to the page."""
    found = writer.context.folder / path
    if not found.is_file():
        writer.fail(directive.line, f"there is no file {path} beside the page")
    return found


def write_code(writer: Writer, directive: Directive) -> str:
    """Code that is shown, written here or taken from a file by the name of a function or by lines."""
    language, text = directive.argument, directive.body
    if directive.name == "literalinclude":
        path = included(writer, directive, directive.argument)
        language = directive.options.get("language", "python" if path.suffix == ".py" else "")
        try:
            options = dict(directive.options)
            if "dedent" in options:
                options["dedent"] = int(options["dedent"]) if options["dedent"] else None
            text, _ = LiteralIncludeReader(str(path), options, SimpleNamespace(source_encoding="utf-8")).read()
        except (ValueError, OSError) as error:
            writer.fail(directive.line, str(error).replace(str(path), directive.argument))
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    head = f"{writer.inline(directive.options['caption'], directive.line)}\n\n" if directive.options.get("caption") else ""
    text = text.strip("\n")
    return f"{head}{fence}{language}\n{text}\n{fence}"


def definitions(writer: Writer, lines: list[str], line: int) -> str:
    """Terms, each followed by indented text or by a colon and text: bold terms, the text below."""
    entries: list[tuple[str, int, list[str]]] = []
    for number, text in enumerate(lines):
        if text.strip() and not re.match(r"[\s:]", text):
            entries.append((text.strip(), number, []))
        elif entries:
            entries[-1][2].append(re.sub(r"^:?\s{0,3}", "", text))
    return "\n\n".join(f"**{writer.inline(term, line + number)}**  \n" + writer.text("\n".join(body), line + number + 1).strip()
                       for term, number, body in entries)


def write_glossary(writer: Writer, directive: Directive) -> str:
    return definitions(writer, directive.body.split("\n"), directive.body_line)


def write_site_only(writer: Writer, directive: Directive) -> str:
    where = writer.title or writer.context.titles.get(writer.page.name, writer.page.name)
    return f"*What stands here is made when the site is built; see the page “{where}” there.*"


def write_times(writer: Writer, directive: Directive) -> str:
    return f"*{times(writer.page, writer.context.seconds.get(writer.page.name))}*"


def write_quotation(writer: Writer, directive: Directive) -> str:
    return quote(content(writer, directive))


def write_raw(writer: Writer, directive: Directive) -> str:
    return directive.body if directive.argument == "html" else ""


def write_nothing(writer: Writer, directive: Directive) -> str:
    return ""


WRITERS: dict[str, Callable[[Writer, Directive], str]] = {
    **dict.fromkeys((*ADMONITIONS, "admonition", "dropdown", "sidebar", "topic", "prf:proof", "margin"), write_admonition),
    **dict.fromkeys((f"prf:{name}" for name in PROOFS), write_numbered),
    **dict.fromkeys(("exercise", "exercise-start"), write_numbered),
    **dict.fromkeys(("solution", "solution-start"), write_solution),
    **dict.fromkeys((name for name in BOXES if name != "dropdown"), write_box),
    **dict.fromkeys(("figure", "image"), write_figure),
    **dict.fromkeys(("code", "code-block", "literalinclude"), write_code),
    **dict.fromkeys(("epigraph", "pull-quote", "highlights"), write_quotation),
    **dict.fromkeys(("contents", "index", "exercise-end", "solution-end"), write_nothing),
    **dict.fromkeys(SITE_ONLY, write_site_only),
    "math": write_maths, "table": write_table, "list-table": write_list_table, "csv-table": write_csv_table,
    "glossary": write_glossary, "raw": write_raw, "times": write_times,
}
