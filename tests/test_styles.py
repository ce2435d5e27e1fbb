"""The one style sheet of the site: what stays of the theme's, and how pages link it."""

from __future__ import annotations

from pathlib import Path

import pytest
from sphinx.errors import ExtensionError

from lessonlib.book.styles import for_paper, merged, names_in, one_sheet, smaller, stamped


@pytest.mark.parametrize(("css", "kept"), [
    (".card{a:b}.note{a:b}", ".note{a:b}"),
    (".card,.note,p{a:b}", ".note,p{a:b}"),
    (".card .note,.note>#top{a:b}", ".note>#top{a:b}"),
    (".note#bottom{a:b}", ""),
    (".note:not(.card,.alert)::before{a:b}", ".note:not(.card,.alert)::before{a:b}"),
    ('[class="card"] p,html[data-theme=dark] .note{a:b}', '[class="card"] p,html[data-theme=dark] .note{a:b}'),
    ("@media print{.card{a:b}.note{a:b}}@media screen{.card{a:b}}", "@media print{.note{a:b}}"),
    ("@supports (a:b){@media print{.card{a:b}}}", ""),
    ("@keyframes card{from{a:b}}@font-face{a:url(x.woff)}", "@keyframes card{from{a:b}}@font-face{a:url(x.woff)}"),
    ('@charset "utf-8";/* .note */.note{}', ".note{}"),
    (".bs-tooltip-auto{a:b}", ".bs-tooltip-auto{a:b}"),
    (r".\31 0{a:b}.note\/wide{a:b}", ""),
])
def test_a_rule_stays_only_if_something_can_match_it(css: str, kept: str) -> None:
    assert smaller(css, {"note", "top"}) == kept


@pytest.mark.parametrize(("css", "parted"), [
    ("p{a:b}@media print{p{a:c}}", "p{a:b}@media print{p{a:c}}"),
    ("html[data-theme=dark] p{a:b}", "@media screen{html[data-theme=dark] p{a:b}}"),
    ('html[data-theme="light"]{a:b}', 'html[data-theme="light"]{a:b}@media print{html[data-theme]{a:b}}'),
    (".note,html[data-theme=dark] p,html[data-theme=light] p{a:b}",
     ".note,html[data-theme=light] p{a:b}@media screen{html[data-theme=dark] p{a:b}}@media print{html[data-theme] p{a:b}}"),
])
def test_paper_is_light_whatever_the_theme(css: str, parted: str) -> None:
    assert for_paper(css) == parted


def test_what_is_no_style_sheet_is_refused() -> None:
    with pytest.raises(ExtensionError, match="cannot be read: .* in line 2"):
        smaller("p{a:b}\n}", set())


def test_names_come_from_attributes_and_from_all_words_of_scripts() -> None:
    names = names_in(['<p class="note wide" id="top" title="card">alert</p>'], ['x.classList.add("is-open")'])
    assert {"note", "wide", "top", "is-open"} <= names and not names & {"card", "alert"}


def lay_out(static: Path) -> None:
    (static / "styles").mkdir(parents=True, exist_ok=True)
    (static / "book.css").write_text("p{a:url(logo.svg)}.note{a:b}")
    (static / "styles" / "pydata-sphinx-theme.css").write_text("p{a:url(../vendor/font.woff);b:url(data:image/svg+xml,x)}")


def test_sheets_become_one_in_their_order_with_addresses_from_its_folder(tmp_path: Path) -> None:
    lay_out(tmp_path / "static")
    css = merged(tmp_path / "static", set(), tmp_path / "styles.json")
    assert css == "p{a:url(vendor/font.woff);b:url(data:image/svg+xml,x)}\np{a:url(logo.svg)}"
    assert not list(tmp_path.rglob("*.css"))


def test_the_sheet_is_made_anew_only_if_what_it_is_made_from_changed(tmp_path: Path) -> None:
    memory, found = tmp_path / "styles.json", []
    for names in (set(), {"card"}, {"card", "note"}):
        lay_out(tmp_path / "static")
        found.append(merged(tmp_path / "static", names, memory))
        memory.write_text(memory.read_text().replace("logo", "kept"))
    assert "kept" not in found[0] and found[1] == found[0].replace("logo", "kept")
    assert found[2] == found[0] + ".note{a:b}"


def test_a_page_links_the_one_sheet_in_the_place_of_the_first() -> None:
    page = ('<head><link href="../_static/basic.css" rel="stylesheet" />\n<link rel="stylesheet" type="text/css" href="../_static/book.css?v=1" />'
            '<link rel="icon" href="../_static/favicon.svg"/></head>')
    linked = one_sheet(page)
    assert linked == '<head>\n  <link rel="stylesheet" href="../_static/site.css" /><link rel="icon" href="../_static/favicon.svg"/></head>'
    once, again = stamped(linked, "p{a:b}"), stamped(stamped(linked, "p{a:b}"), "p{a:c}")
    assert once != again and len(once) == len(again) and once.count("site.css?v=") == 1


def test_a_sheet_that_nobody_listed_is_noticed() -> None:
    with pytest.raises(ExtensionError, match="another style sheet, new.css: see SHEETS"):
        one_sheet('<link rel="stylesheet" href="_static/new.css?v=2" />')
