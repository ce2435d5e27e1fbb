"""Citations in the text, and the list of references, from the book's BibTeX file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pybtex.backends.markdown import Backend
from pybtex.database import BibliographyData, Entry, parse_file
from pybtex.exceptions import PybtexError
from pybtex.plugin import find_plugin

from lessonlib.book.pages import BookError


class PlainBackend(Backend):
    """Markdown that is readable as it stands: only what would be taken for markup is escaped."""

    symbols = MappingProxyType({**Backend.symbols, "ndash": "–"})

    def format_str(self, text: str) -> str:
        return "".join(f"\\{char}" if char in "\\`*_[]<$" else char for char in text)


def authors(entry: Entry) -> str:
    """The family names of one or two authors, or the first and "et al."; the title where nobody is named."""
    people = entry.persons.get("author") or entry.persons.get("editor") or []
    names = [" ".join(map(str, person.rich_prelast_names + person.rich_last_names)) for person in people]
    if not names:
        return str(entry.rich_fields["title"])
    if len(names) > 2 or names[-1] == "others":
        return f"{names[0]} et al."
    return " and ".join(names)


@dataclass(frozen=True)
class Bibliography:
    """The entries of a BibTeX file, by key."""

    data: BibliographyData

    def entry(self, key: str) -> Entry:
        """The entry of a key.

        Raises
        ------
        ValueError
            If there is none; the message suggests the nearest key.
        """
        if key not in self.data.entries:
            near = difflib.get_close_matches(key, self.data.entries, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"references.bib has no entry {key!r}{hint}")
        return self.data.entries[key]

    def in_text(self, keys: Sequence[str]) -> str:
        """Citations as part of a sentence: Elman (1990)."""
        return ", ".join(f"{authors(entry)} ({entry.fields.get('year', 'n.d.')})" for entry in map(self.entry, keys))

    def in_brackets(self, keys: Sequence[str]) -> str:
        """Citations beside a sentence: (Elman, 1990; Graves, 2012)."""
        cited = (f"{authors(entry)}, {entry.fields.get('year', 'n.d.')}" for entry in map(self.entry, keys))
        return f"({'; '.join(cited)})"

    def references(self, keys: Iterable[str]) -> list[str]:
        """Each cited entry once, in Markdown with links to DOI or arXiv, by author and year."""
        style = find_plugin("pybtex.style.formatting", "plain")()
        entries = [self.entry(key) for key in set(keys)]
        return [" ".join(entry.text.render(PlainBackend()).split()) for entry in style.format_entries(entries)]


def load(path: Path) -> Bibliography:
    """The bibliography in a BibTeX file; empty where there is no such file.

    Raises
    ------
    BookError
        If the file is not BibTeX, or holds a key twice; it names the line or the key.
    """
    try:
        return Bibliography(parse_file(str(path)) if path.is_file() else BibliographyData())
    except PybtexError as error:
        raise BookError(f"book/{path.name}: {error}; mend the entry there") from error
