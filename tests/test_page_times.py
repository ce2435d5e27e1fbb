"""What a page says of the time that it takes is computed from its text and from its record."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from conftest import ROOT, SmallBook

from lessonlib.book.notebooks import context, readable
from lessonlib.book.page_times import code_lines, formula_lines, reading_minutes, recorded_seconds, run_time, times
from lessonlib.book.pages import Page, Project

PROJECT = Project(ROOT)
ACCOUNTS = {"bibliography", "reproduction", "status"}  # lists that a build makes
FRONT = "---\nfile_format: mystnb\nkernelspec: {name: python3, display_name: Python 3}\n---\n"
CODE = "```{code-cell} ipython3\n:name: probe-a\nx = 1\n\nprint(x)\n```\n"


def page(text: str) -> Page:
    return Page("probe", FRONT + text)


@pytest.mark.parametrize(("words", "minutes"), [(1, 5), (1000, 5), (1001, 10), (2000, 10), (7345, 40)])
def test_words_are_read_at_two_hundred_a_minute(words: int, minutes: int) -> None:
    assert reading_minutes(page("word " * words)) == minutes


def test_a_formula_or_a_number_in_a_sentence_is_one_word() -> None:
    assert reading_minutes(page("is $a + b + c$, {measured}`x:.1f`, ({cite:p}`y`) | - | " * 250)) == 5
    assert reading_minutes(page("is $a + b + c$, {measured}`x:.1f`, ({cite:p}`y`) | - | " * 251)) == 10


def test_lines_of_code_and_of_displayed_formulas_count_as_lines_of_prose() -> None:
    assert reading_minutes(page("word\n\n" + CODE * 49)) == 5
    assert reading_minutes(page("word\n\n" + CODE * 50)) == 10


@pytest.mark.parametrize(("tags", "lines"), [("exact", 2), ("exact, hide-input", 0), ("remove-input", 0), ("hide-cell", 0)])
def test_folded_code_does_not_count(tags: str, lines: int) -> None:
    assert code_lines(page(CODE.replace("x = 1", f":tags: [{tags}]\nx = 1"))) == lines


@pytest.mark.parametrize(("text", "lines"), [
    ("```{math}\n:label: eq-x\na \\\\\nb\n```", 2), ("  ```{math}\n  a\n  ```\n", 1), ("$$\na\n$$ (eq-x)\n\n$$ b $$", 2), ("$a$ and\n\n```python\nb\n```", 0),
])
def test_lines_of_formulas(text: str, lines: int) -> None:
    assert formula_lines(text) == lines


@pytest.mark.parametrize(("seconds", "words"), [
    (0.0, "a few seconds"), (9.9, "a few seconds"), (10.0, "less than a minute"), (59.9, "less than a minute"), (60.0, "about 1 minute"),
    (89.0, "about 1 minute"), (91.0, "about 2 minutes"), (956.0, "about 16 minutes"),
])
def test_a_run_time_is_rounded(seconds: float, words: str) -> None:
    assert run_time(seconds) == words


def test_a_run_time_needs_code_and_a_record() -> None:
    assert times(page(CODE), 30.0) == "Reading time: 5 minutes. Run time when last recorded: less than a minute on one core."
    assert times(page(CODE), None) == times(page("text"), 30.0) == "Reading time: 5 minutes."


def test_seconds_come_from_the_record(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.expected.mkdir(parents=True)
    for name, text in {"ran": "# by accept\nseconds: 24.7\ncells: {}\n", "written": "seconds: null\ncells: {}\n"}.items():
        (project.expected / f"{name}.yml").write_text(text)
    assert [recorded_seconds(project, name) for name in ("ran", "written", "new")] == [24.7, None, None]


def test_every_page_of_text_says_how_long_it_takes() -> None:
    for page in PROJECT.pages():
        assert page.text.count("```{times}\n```\n") == (page.name not in ACCOUNTS), page.name
        assert not re.search(r"(?i)\b(reading|run) time:", page.text), page.name


@pytest.mark.parametrize("name", sorted({*PROJECT.page_names()} - ACCOUNTS))
def test_the_site_shows_it(site: Path, name: str) -> None:
    shown = BeautifulSoup((site / f"{name}.html").read_text("utf8"), "html.parser").select("article p > em:only-child")
    said = times(PROJECT.pages([name])[0], recorded_seconds(PROJECT, name))
    assert [line.get_text() for line in shown if "Reading time" in line.get_text()] == [said]


def test_a_notebook_shows_it(tmp_path: Path) -> None:
    book = Project(tmp_path)
    book.expected.mkdir(parents=True)
    book.book.mkdir()
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: probe\n")
    (book.book / "references.bib").write_text("")
    (book.book / "probe.md").write_text(f"{FRONT}# Probe\n\n```{{times}}\n```\n\nText.\n\n{CODE}")
    (book.expected / "probe.yml").write_text("seconds: 130.0\n")
    probe = book.pages()[0]
    made = readable(probe, probe.notebook, context(book, {}))
    assert made.cells[0].source == ("# Probe\n\n*Reading time: 5 minutes. Run time when last recorded: about 2 minutes on one core.*\n\nText.")


def test_a_page_is_written_again_when_its_record_says_another_time(book: SmallBook) -> None:
    quiet = CODE.replace("print(x)\n", "")
    (book.root / "book" / "probe.md").write_text(f"{FRONT}# Probe\n\n```{{times}}\n```\n\n{quiet}")
    (book.root / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n  - file: probe\n")  # Sphinx always reads the root
    record = book.root / "tests" / "expected" / "probe.yml"
    for text, words in (("", "5 minutes.<"), ("seconds: 300.0\n", "about 5 minutes on"), ("seconds: 600.0\n", "about 10 minutes on")):
        if text:
            record.write_text(text + "cells: {}\nmeasurements: {}\n")
        run = book.press("build")
        assert run.status == 0, run.output
        assert words in (book.site / "probe.html").read_text("utf8")
