"""Sphinx extension: the search of the site knows each page's key terms, so that the page that teaches a term comes first.

Sphinx's index holds which words a page has, not what it is about. Its search calls a scoring function of
ours, if there is one, for each result; this module writes that function with the key terms of the pages.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from lessonlib.book.extension import pages

SECTION = re.compile(r"(?ms)^#+ Key terms.*?\n(.*?)(?=^#|\Z)")
TERM = re.compile(r"\{term\}`(?:[^`<]*<)?([^`<>]+)>?`")
BACK_MATTER = ["bibliography", "glossary", "reproduction", "status"]

SCORER = """var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  terms: TERMS,
  later: LATER,
  score: ([page, title, anchor, description, score]) => {
    const query = (new URLSearchParams(location.search).get("q") || "").toLowerCase().replaceAll("\u2013", "-").trim();
    const about = (Scorer.terms[page] || []).filter(([term]) => query && (query.includes(term) || term.includes(query)));
    const taught = Math.max(0, ...about.map(([term, home]) => (home ? 40 : 20) + (term === query ? 20 : 0)));
    return score + taught - (Scorer.later.includes(page) ? 10 : 0);
  },
};
"""


def key_terms(text: str) -> list[str]:
    """The terms in the section "Key terms" of a page's source, in lower case; a dash is a hyphen, as readers type it."""
    section = SECTION.search(text)
    return [term.strip().lower().replace("\u2013", "-") for term in TERM.findall(section[1])] if section else []


def homes(sources: dict[str, str]) -> dict[str, list[tuple[str, bool]]]:
    """The key terms of each page, each with whether this is the first page, in reading order, that has it."""
    seen: set[str] = set()
    found: dict[str, list[tuple[str, bool]]] = {}
    for page, text in sources.items():
        terms = key_terms(text)
        found[page] = [(term, term not in seen) for term in terms]
        seen.update(terms)
    return found


def write_scorer(app: Sphinx, config: Any) -> None:
    """Leave the scoring function where Sphinx takes it into its search script."""
    terms = json.dumps({page: found for page, found in homes({name: page.text for name, page in pages().items()}).items() if found})
    path = Path(app.doctreedir) / "scorer.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SCORER.replace("TERMS", terms).replace("LATER", json.dumps(BACK_MATTER)), "utf8")
    config.html_search_scorer = str(path)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", write_scorer)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
