"""One style sheet for the whole site, without the rules that no page of it can use.

The theme and its extensions bring eight sheets that a browser waits for, most of them rules for parts that this
book does not have. A rule stays if every class and id that its selector asks for stands in a page or in a script.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path

import tinycss2
from sphinx.errors import ExtensionError
from tinycss2.ast import LiteralToken, Node

# Below _static/, in the order in which the theme links them.
SHEETS = ["basic.css", "styles/pydata-sphinx-theme.css", "pygments.css", "styles/sphinx-book-theme.css", "togglebutton.css",
          "copybutton.css", "mystnb.*.css", "proof.css", "exercise.css", "sphinx-design.min.css", "book.css"]
SITE = "site.css"
LINKED = re.compile(r'\s*<link (?=[^>]*rel="stylesheet")[^>]*href="([^"]*_static/)([^"?]*)[^>]*>')
ADDRESS = re.compile(r"url\((?!data:|[\"'])([^)]*)\)")
GROUPS = {"media", "supports"}  # rules that hold rules
COMMA = LiteralToken(0, 0, ",")
COMPOSED = re.compile("bs-tooltip-")  # class names that a script puts together
LIGHT, DARK = (re.compile(rf'\[data-theme="?{theme}"?\]') for theme in ("light", "dark"))


def names_in(pages: Iterable[str], scripts: Iterable[str]) -> set[str]:
    """Classes and ids of pages, and every word of scripts, which may set any of them."""
    values = {value for page in pages for attribute in ("class", "id") for value in re.findall(rf' {attribute}="([^"]*)"', page)}
    names = {name for value in values for name in value.split()}
    return names | {word for script in scripts for word in re.findall(r"[\w-]+", script)}


def asked_for(selector: list[Node]) -> set[str]:
    """The classes and ids that an element or its ancestors must have; what `:not()` and the like hold is left out."""
    ids = {token.value for token in selector if token.type == "hash"}
    return ids | {name.value for dot, name in pairwise(selector) if dot == "." and name.type == "ident"}


def selectors(prelude: list[Node]) -> Iterator[list[Node]]:
    """The parts of a list of selectors."""
    part: list[Node] = []
    for token in prelude:
        if token == ",":
            yield part
            part = []
        else:
            part.append(token)
    yield part


def used(rules: list[Node], names: set[str]) -> list[Node]:
    """The rules that can apply where only these classes and ids exist."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            parts = [part for part in selectors(rule.prelude) if all(n in names or COMPOSED.match(n) for n in asked_for(part))]
            rule.prelude = [token for part in parts for token in (COMMA, *part)][1:]
            wanted = bool(parts)
        elif rule.type == "at-rule" and rule.lower_at_keyword in GROUPS:
            rule.content = used(tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True), names)
            wanted = bool(rule.content)
        else:
            wanted = rule.type != "at-rule" or rule.lower_at_keyword != "charset"
        if wanted:
            kept.append(rule)
    return kept


def smaller(css: str, names: set[str]) -> str:
    """A style sheet of the rules that can apply.

    Raises
    ------
    ExtensionError
        If it is no style sheet.
    """
    rules = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
    for rule in rules:
        if rule.type == "error":
            raise ExtensionError(f"a style sheet cannot be read: {rule.message}, in line {rule.source_line}")
    return tinycss2.serialize(used(rules, names))


def for_paper(css: str) -> str:
    """A style sheet whose light theme holds on paper whatever theme the reader chose, and whose dark one is for screens."""
    return "".join(for_paper_too(rule) for rule in tinycss2.parse_stylesheet(css))


def for_paper_too(rule: Node) -> str:
    """A rule, parted into what holds everywhere, on screens and on paper."""
    if rule.type != "qualified-rule":
        return rule.serialize()
    parts, body = [tinycss2.serialize(part) for part in selectors(rule.prelude)], "{" + tinycss2.serialize(rule.content) + "}"
    dark, light = ([part for part in parts if theme.search(part)] for theme in (DARK, LIGHT))
    everywhere = [part for part in parts if part not in dark]
    text = ",".join(everywhere) + body if everywhere else ""
    text += "@media screen{" + ",".join(dark) + body + "}" if dark else ""
    return text + ("@media print{" + LIGHT.sub("[data-theme]", ",".join(light)) + body + "}" if light else "")


def merged(static: Path, names: set[str], memory: Path) -> str:
    """The sheets below a folder as one, for a page that links it from that folder; they are taken away.

    Parameters
    ----------
    names : set of str
        Classes and ids that exist on the site.
    memory : Path
        Where the sheet is kept: it is made anew only if the sheets, or the names in them that exist, changed.
    """
    sheets = {path: path.read_text("utf8") for pattern in SHEETS for path in static.glob(pattern)}
    known = names & set(re.findall(r"[\w-]+", "".join(sheets.values())))
    key = hashlib.sha256(repr([*sheets.values(), sorted(known)]).encode()).hexdigest()
    kept = json.loads(memory.read_text("utf8")) if memory.is_file() else {}
    if kept.get("key") != key:
        parts = []
        for path, css in sheets.items():
            folder = path.parent.relative_to(static).as_posix()
            parts.append(ADDRESS.sub(lambda found, folder=folder: f"url({posixpath.normpath(posixpath.join(folder, found[1]))})",
                                     for_paper(smaller(css, known))))
        kept = {"key": key, "css": "\n".join(parts)}
        memory.write_text(json.dumps(kept), "utf8")
    for path in sheets:
        path.unlink()
    return kept["css"]


def one_sheet(page: str) -> str:
    """A page that links the one sheet in place of the others.

    Raises
    ------
    ExtensionError
        If it links a sheet that is not in `SHEETS`: put it there, at its place in the order.
    """
    linked = LINKED.findall(page)
    for _, sheet in linked:
        if not any(fnmatch(sheet, pattern) for pattern in SHEETS):
            raise ExtensionError(f"the theme links another style sheet, {sheet}: see SHEETS in {__name__}")
    links = iter([f'\n  <link rel="stylesheet" href="{linked[0][0]}{SITE}" />'])
    return LINKED.sub(lambda _: next(links, ""), page)


def stamped(page: str, css: str) -> str:
    """A page that asks for just this version of the sheet, whatever its browser has kept."""
    return re.sub(rf'/{re.escape(SITE)}(\?v=\w+)?"', f'/{SITE}?v={hashlib.sha256(css.encode()).hexdigest()[:8]}"', page)
