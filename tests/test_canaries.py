"""The gate proves itself: each broken book fails, cold and warm, with a message that says what, where and how to mend."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import SmallBook

CELL = "```{code-cell} ipython3\n:name: small-more\n%s\n```\n"


def add_cell(code: str) -> Callable[[SmallBook], None]:
    return lambda book: book.page.write_text(book.page.read_text() + "\n" + CELL % code)


def add_text(text: str) -> Callable[[SmallBook], None]:
    return lambda book: book.page.write_text(book.page.read_text() + "\n" + text + "\n")


def change(old: str, new: str) -> Callable[[SmallBook], None]:
    return lambda book: book.replace(old, new)


def change_constant(book: SmallBook) -> None:
    book.replace("24.5", "24.6", book.root / "lessonlib" / "constants.py")


def recorded(old: str, new: str) -> Callable[[SmallBook], None]:
    return lambda book: book.replace(old, new, book.root / "tests" / "expected" / "index.yml")


def quote_finer_than_held(book: SmallBook) -> None:
    book.replace("`small-speed:.1f`", "`small-speed:.4f`")
    recorded("value: 24.5", "value: 24.5004")(book)


def figure_of_a_source(entry: str) -> Callable[[SmallBook], None]:
    return lambda book: book.replace("[]", f"- {entry}", book.root / "tests" / "expected" / "sources.yml")


def orphan(book: SmallBook) -> None:
    (book.root / "tests" / "expected" / "gone.yml").write_text("cells: {}\n")


def break_bibliography(book: SmallBook) -> None:
    file = book.root / "book" / "references.bib"
    file.write_text(file.read_text() + "\n@article{pump2020,\n  title = {Of pumps},\n")


def hang(book: SmallBook) -> None:
    book.replace("kernelspec:", "mystnb: {execution_timeout: 3}\nkernelspec:")
    add_cell("import time; time.sleep(600)")(book)


CANARIES: dict[str, tuple[Callable[[SmallBook], None], list[str]]] = {
    "a cell raises": (add_cell("1 / 0"), ["index", "small-more", "ZeroDivisionError", "build index"]),
    "a library constant changes": (change_constant, ["index, cell small-speed", "24.50", "24.60", "accept index"]),
    "a recorded number is wrong": (recorded("speed 24.50", "speed 24.40"), ["index, cell small-speed", "24.40", "24.50"]),
    "a quotation shows a digit that moved": (quote_finer_than_held, ["line 8", "small-speed", "24.5004", "24.5000"]),
    "a measurement gets another class": (lambda book: (book.replace(":name: small-speed", ":name: small-speed\n:tags: [magnitude]"),
                                                       recorded("kind: printed\n    text", "kind: magnitude\n    text")(book)),
                                         ["small-speed", "magnitude", "recorded as printed", "accept"]),
    "a claim is not made any more": (change('claim("the pump turns", SPEED > 0)', ""), ["the pump turns", "recorded as a claim", "accept"]),
    "a claim is new": (add_cell('claim("two is more", 2 > 1)'), ["two is more", "not recorded", "accept"]),
    "a figure of a source is not met": (figure_of_a_source(
        "{id: s.speed, page: index, what: speed, where: S, reported: 30, reference: 30, measurement: small-speed, tolerance: {abs: 1}}"),
        ["s.speed", "outside", "sources.yml"]),
    "a figure of a source is tied to nothing": (figure_of_a_source("{id: s.speed, page: index, what: speed, where: S, reported: 30, reference: 30}"),
                                                ["s.speed", "neither", "sources.yml"]),
    "the list of sources is malformed": (figure_of_a_source("7"), ["sources.yml", "a mapping is expected"]),
    "recorded numbers have no page": (orphan, ["gone.yml", "not in _toc.yml"]),
    "a measurement that prose quotes is missing": (change("`small-speed:.1f`", "`small-sped:.1f`"), ["line 8", "small-sped", "small-speed"]),
    "a cell has no name": (change(":name: small-speed\n", ""), ["index", "has no name"]),
    "a cell hangs": (hang, ["small-more", "limit of 3 s"]),
    "a kernel dies": (add_cell("import os; os._exit(1)"), ["small-more", "killed its kernel"]),
    "a claim is false": (change("SPEED > 0", "SPEED < 0"), ["small-speed", "the pump turns"]),
    "a cell prints what is not recorded": (add_cell("print(7)"), ["small-more", "nothing is recorded"]),
    "a recorded number is printed no more": (change("print(f\"speed {record('small-speed', SPEED):.2f}\")",
                                                    "record('small-speed', SPEED)"), ["small-speed", "no cell prints"]),
    "a cell writes to stderr": (add_cell("import warnings; warnings.warn('mind the pump')"), ["small-more", "stderr", "mind the pump"]),
    "a number is typed into prose": (add_text("It slips by 3.5 turns."), ["line", "3.5"]),
    "a reference leads nowhere": (add_text("See {ref}`nowhere`."), ["index.md", "nowhere"]),
    "the bibliography is not BibTeX": (break_bibliography, ["references.bib", "line", "mend"]),
    "a formula is not TeX": (add_text("The load is $\\frac{1}{$."), ["index.md"]),
    "an expected exception has no type": (add_cell(":tags: [raises-exception]\n1 / 0"), ["small-more", "does not name the exception"]),
    "a page reads what its key does not cover": (add_cell("open('../_config.yml').read()"), ["small-more", "FileNotFoundError"]),
}


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("name", CANARIES)
def test_a_broken_book_fails_with_its_message_and_keeps_the_last_site(book: SmallBook, name: str, warm: bool) -> None:
    spoil, words = CANARIES[name]
    before = book.snapshot()
    if not warm:
        book.forget()
    spoil(book)
    spoiled = {path: path.read_bytes() for path in (book.root / "tests").rglob("*.yml")}
    for _ in range(2 if warm else 1):  # the second build after a failure fails too
        run = book.press("build")
        assert run.status == 1, run.output
        for word in words:
            assert word in run.output, (word, run.output)
        assert "Traceback (most recent call last):\n  File" not in run.output, run.output
    assert book.snapshot() == (before if warm else {})
    assert {path: path.read_bytes() for path in (book.root / "tests").rglob("*.yml")} == spoiled


def test_the_good_book_builds_and_builds_again_without_executing(book: SmallBook) -> None:
    first, second = book.press("build"), book.press("build")
    assert first.status == second.status == 0, first.output + second.output
    assert "0 of 1 pages executed" in second.output and "up to date" in second.output


def test_an_edited_sentence_executes_nothing_and_reaches_the_site(book: SmallBook) -> None:
    book.replace("The pump idles at", "The pump hums along at")
    run = book.press("build")
    assert run.status == 0 and "0 of 1 pages executed" in run.output, run.output
    assert b"hums along at" in book.snapshot()["index.html"]


def test_an_edited_line_of_the_library_executes_the_page_and_moves_the_quoted_number(book: SmallBook) -> None:
    change_constant(book)
    assert book.press("build").status == 1
    shown = book.press("accept", "index").output
    assert "24.50" in shown and "24.60" in shown and "tolerances" in shown
    run = book.press("build")
    assert run.status == 0, run.output
    assert b">24.6<" in book.snapshot()["index.html"]


def test_accept_shows_what_moved_within_its_tolerance_and_keeps_its_record(book: SmallBook) -> None:
    """Numbers cannot walk off in small steps."""
    kept = (book.root / "tests" / "expected" / "index.yml").read_text()
    book.replace("24.5", "24.501", book.root / "lessonlib" / "constants.py")
    run = book.press("accept", "index")
    assert run.status == 0 and "small-speed 24.5 -> 24.501  (0.10 tolerances, holds)" in run.output, run.output
    assert "value: 24.5\n" in kept and "value: 24.5\n" in (book.root / "tests" / "expected" / "index.yml").read_text()
