"""A page's MyST as plain Markdown: what JupyterLab shows without an extension.

Blocks are found by MyST's own parser; inside paragraphs the roles are found beside code and
mathematics, which stay as they are. What has no plain form known here is an error, so that no raw
role or directive reaches a reader. Directives are in `plain_directives`.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from lessonlib.book import plain_directives
from lessonlib.book.citations import Bibliography
from lessonlib.book.pages import BookError, Page
from lessonlib.book.plain_directives import prefixed
from lessonlib.book.quote import quoted

EXTENSIONS = {"colon_fence", "deflist", "dollarmath", "substitution"}  # as in _config.yml
PARSER = create_md_parser(MdParserConfig(enable_extensions=EXTENSIONS), RendererHTML)
VERBATIM = ("code_block", "math_block", "html_block")
REMOVED = ("myst_target", "myst_line_comment")
BLOCKS = (*VERBATIM, *REMOVED, "fence", "colon_fence", "math_block_label", "dl_open")

INSIDE = r"(?:(?!\n[ \t]*\n).)+?"  # within one paragraph
SPAN = re.compile(rf"""
    \\.
  | (?P<math>\$\$(?!\$){INSIDE}\$\$ | \$(?:\\.|(?!\n[ \t]*\n)[^$\\])+\$)
  | \{{(?P<role>[\w:+.-]+)\}}(?P<ticks>`+)(?!`)(?P<content>{INSIDE})(?<!`)(?P=ticks)(?!`)
  | (?P<code>`+)(?!`){INSIDE}(?<!`)(?P=code)(?!`)
  | (?P<substitution>\{{\{{{INSIDE}\}}\}})
  | (?<!!)\[(?P<text>[^\[\]]*)\]\((?P<address>[^()\s]+)\)
""", re.VERBOSE | re.DOTALL)
HEADING = re.compile(r"\s*#{1,6}[ ]+(.+)")
TITLED = re.compile(r"(?P<title>.+?)\s*<(?P<target>[^<>]+)>", re.DOTALL)
WRAPPED = {"term": "*{}*", "sub": "<sub>{}</sub>", "sup": "<sup>{}</sup>", "math": "${}$", "code": "`{}`", "kbd": "<kbd>{}</kbd>",
           "abbr": "{}", "dfn": "*{}*"}


@dataclass(frozen=True)
class Label:
    """What a label stands for: a section, or a numbered equation, figure, table, exercise, ... of a page."""

    page: str
    kind: str = "section"
    title: str | None = None
    number: int | None = None

    @property
    def name(self) -> str:
        return f"{self.kind.capitalize()} {self.number}" if self.number else self.title or ""


@dataclass
class Context:
    """What a page may refer to: measurements, the literature, the seconds of each page's run, the titles of pages, labels."""

    measurements: dict[str, Any]
    bibliography: Bibliography
    seconds: dict[str, float | None] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    folder: Path = Path()  # of the pages' sources, to which the paths in them are relative
    complete: bool = True  # False while labels are being collected: then a label may be unknown


class Writer:
    """Writes the Markdown cells of one page; numbers run through the page in order."""

    def __init__(self, page: Page, context: Context) -> None:
        self.page, self.context = page, context
        self.title: str | None = None
        self.labels: dict[str, Label] = {}
        self.cited: list[str] = []
        self._counts: dict[str, int] = {}
        self._waiting: list[str] = []  # labels that stand before what they name
        self._roles = 0

    def fail(self, line: int, message: str) -> NoReturn:
        raise BookError(f"book/{self.page.name}.md, line {line}: {message}")

    def define(self, label: str | None, kind: str, title: str | None = None, *, numbered: bool = True) -> Label:
        """Give the next number of a kind to a label, if there is one, and return both."""
        if numbered:
            self._counts[kind] = self._counts.get(kind, 0) + 1
        made = Label(self.page.name, kind, title, self._counts[kind] if numbered else None)
        if label:
            self.labels[label] = made
        return made

    def text(self, source: str, line: int) -> str:
        """MyST source in plain Markdown; `line` is where its first line stands in the page."""
        lines, written, done = source.split("\n"), [], 0
        before, expected = self._roles, 0
        for token in PARSER.parse(source):
            if token.type.startswith("footnote"):
                self.fail(line, "a footnote has no plain form; put it into the sentence")
            if token.map is None or token.map[0] < done:
                continue
            start, end = token.map
            if token.type == "inline":
                expected += count_roles(token)
            if token.type not in BLOCKS:
                continue
            written += self.prose(lines[done:start], line + done)
            after = self._roles
            written += self.block(token, lines[start:end], line + start)
            before += self._roles - after  # those inside the block were counted there
            done = end
        written += self.prose(lines[done:], line + done)
        if self._roles - before != expected:
            self.fail(line, "the roles in the text from here on cannot be told from code; look for a lone "
                            "backtick or dollar, or a backtick in the line that opens a directive")
        return "\n".join(written)

    def prose(self, lines: list[str], line: int) -> list[str]:
        """Paragraphs, headings, lists and tables that hold no directive."""
        source = "\n".join(lines)
        if not source.strip():
            return lines
        written = self.inline(source, line)
        heading = HEADING.match(written)
        if heading and self.title is None and written.lstrip().startswith("# "):
            self.title = heading[1]
        for label in self._waiting:
            self.define(label, "section", heading and heading[1], numbered=False)
        self._waiting.clear()
        return [written]

    def block(self, token: Token, lines: list[str], line: int) -> list[str]:
        """One block that is no plain prose."""
        if token.type == "myst_target":
            self._waiting.append(token.content)
        if token.type in REMOVED:
            return []
        if token.type == "math_block_label":
            return [plain_directives.display(token.content, self.define(token.info, "equation").number)]
        if token.type == "dl_open":
            return [plain_directives.definitions(self, lines, line)]
        directive = plain_directives.parse(token, line) if "fence" in token.type else None
        if directive is None:
            return lines
        for label in self._waiting:
            self.define(label, "section", directive.argument or None, numbered=False)
        self._waiting.clear()
        first = lines[0][:len(lines[0]) - len(lines[0].lstrip(" \t>*-+.0123456789"))]
        rest = re.sub(r"[^ \t>]", " ", first)
        made = plain_directives.write(self, directive).strip("\n").split("\n")
        return [prefixed(rest if number else first, text) for number, text in enumerate(made)]

    def inline(self, source: str, line: int) -> str:
        """Text without blocks: its roles and links in plain Markdown, code and mathematics as they are."""

        def replace(match: re.Match[str]) -> str:
            here = line + source.count("\n", 0, match.start())
            if match["role"]:
                self._roles += 1
                return self.role(match["role"], " ".join(match["content"].split()), here)
            if match["substitution"]:
                self.fail(here, f"{match[0]} is a substitution, which has no plain form; write the text itself")
            if match["address"]:
                return self.reference(self.inline(match["text"], here), match["address"], here) or match[0]
            return match[0]

        return SPAN.sub(replace, source)

    def role(self, name: str, content: str, line: int) -> str:
        """One role in plain Markdown."""
        titled = TITLED.fullmatch(content)
        title, target = (titled["title"], titled["target"]) if titled else (None, content)
        if name in WRAPPED:
            return WRAPPED[name].format(title if name == "term" and title else content)
        if name == "doc":
            return self.page_link(title, target.strip("/").removesuffix(".md"), line)
        if name in ("ref", "numref", "eq", "prf:ref"):
            return self.label_link(name, title, target, line)
        try:
            if name == "measured":
                return quoted(self.context.measurements, content)
            if name in ("cite", "cite:p", "cite:t"):
                keys = [key.strip() for key in content.split(",")]
                self.cited += keys
                cite = self.context.bibliography.in_text if name == "cite:t" else self.context.bibliography.in_brackets
                return cite(keys)
        except ValueError as error:
            self.fail(line, str(error))
        self.fail(line, f"the role {{{name}}} has no plain form; teach it to lessonlib/book/plain_markdown.py")

    def reference(self, text: str, address: str, line: int) -> str | None:
        """A Markdown link to a label or to a page of the book; None for any other link."""
        if address.startswith("#"):
            return self.label_link("ref", text, address[1:], line)
        if re.fullmatch(r"[\w./-]+\.md", address):
            return self.page_link(text, address.removesuffix(".md").removeprefix("./"), line)
        return None

    def page_link(self, text: str | None, page: str, line: int) -> str:
        title = self.context.titles.get(page)
        if title is None and self.context.complete:
            self.unknown(line, "page", page, self.context.titles)
        return f"[{text or title}]({page}.ipynb)"

    def label_link(self, role: str, text: str | None, target: str, line: int) -> str:
        """A reference to a label: a number on this page, a link where it leads elsewhere."""
        label = self.context.labels.get(target, self.labels.get(target))
        if label is None and target in self.context.titles:
            return self.page_link(text, target, line)
        if label is None:
            return self.unknown(line, "label", target, self.context.labels) if self.context.complete else ""
        here = label.page == self.page.name
        if label.kind == "equation" and not text:
            return f"({label.number})" if here else f"(equation {label.number} on {self.page_link(None, label.page, line)})"
        if text and role == "numref":
            text = re.sub(r"%s|\{number\}", str(label.number), text).replace("{name}", label.title or "")
        name = text or label.name
        if not name and self.context.complete:
            self.fail(line, f"the label {target} names nothing with a title; write {{ref}}`text <{target}>`")
        if not here:
            whole = f"{name} on {self.context.titles.get(label.page)}" if label.number and not text else name
            return self.page_link(whole, label.page, line)
        place = anchor(label.title) if label.kind == "section" and label.title else None
        return f"[{name}](#{place})" if place else name

    def unknown(self, line: int, what: str, name: str, known: dict[str, Any]) -> NoReturn:
        near = difflib.get_close_matches(name, known, n=1)
        self.fail(line, f"no {what} {name!r} in the book" + (f"; did you mean {near[0]}?" if near else ""))


def anchor(title: str) -> str | None:
    """The address of a heading within a notebook, as JupyterLab makes it; None where mathematics make it uncertain."""
    return None if "$" in title else re.sub(r"[*`]", "", title).replace(" ", "-")


def count_roles(token: Token) -> int:
    """How many roles MyST finds in a paragraph, a heading or a table's cell."""
    return sum(child.type == "myst_role" for child in token.children or [])
