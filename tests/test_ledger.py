"""The reproduction ledger: its file, its statuses, its errors, and the table made from it."""

import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from lessonlib.book import extension
from lessonlib.book.ledger import Entry, Row, ledger_errors, load, look_up, remark_faults, status, table
from lessonlib.book.ledger_values import agrees, align, escaped, leaves, shape, single, states, written
from lessonlib.book.pages import Page, Project

LEDGER = Path(__file__).parent / "expected" / "sources.yml"
BOOK = Path(__file__).parent.parent / "book"
PAGE = "lab-08-race"
NUMBERED = re.compile(r"(0[1-9]|1[0-4]|lab-0[1-9]|lab-10)-[a-z]+(-[a-z]+)*")
UNNUMBERED = {"exercises", "quiz", "guided-reading", "reproduction"}
BASE = {"id": "s0.a", "page": PAGE, "what": "an accuracy", "where": "S0, section 2", "reported": 0.5, "reference": 0.52}
FINITE = st.floats(min_value=1e-6, max_value=1e6)


def entry(**changes: Any) -> Entry:
    """The base entry, changed; a tie to the measurement `a` unless a reason is given."""
    tie = {} if "reason" in changes or "measurement" in changes else {"measurement": "a", "tolerance": {"abs": 0.01}}
    return Entry(**(BASE | tie | changes))


def row(measured: Any, **changes: Any) -> Row:
    """The row of the changed base entry where `a` was measured."""
    return status(entry(**changes), {"a": measured}, [PAGE])


def written_to(path: Path, items: Iterable[dict[str, Any]]) -> Path:
    path.write_text(yaml.safe_dump(list(items)), encoding="utf-8")
    return path


# --- the file of the book


def test_the_ledger_of_the_book_loads_and_names_pages_of_the_book() -> None:
    entries = load(LEDGER)
    assert len(entries) == 808  # a figure that does not reproduce is explained, not left out
    pages = {e.page for e in entries} - UNNUMBERED
    numbers = Counter(match[1] if (match := NUMBERED.fullmatch(page)) else page for page in pages)
    assert len(numbers) == 24
    assert set(numbers.values()) == {1}
    assert ledger_errors(entries, {}, []) == []


def test_reported_and_reference_have_one_shape() -> None:
    for e in load(LEDGER):
        if None not in (e.reported, e.reference) and not isinstance(e.reported, str):
            align(e.reference, e.reported)


def test_the_ledger_holds_for_the_recorded_numbers_and_its_remarks_quote_them() -> None:
    records = [yaml.load(path.read_text("utf8"), yaml.CSafeLoader) for path in LEDGER.parent.glob("*.yml") if path != LEDGER]
    measurements = {name: item["value"] for record in records for name, item in record["measurements"].items()}
    assert ledger_errors(load(LEDGER), measurements, [path.stem for path in BOOK.glob("*.md")]) == []


# --- statuses


def test_reproduced_within_tolerance_of_the_reported_value() -> None:
    assert row(0.509).status == "reproduced"


def test_reproduced_by_the_reference_where_nothing_was_reported() -> None:
    assert row(0.511, reported=None).status == "reproduced"
    assert row(0.509, reported=None).status == "in error"


def test_reproduced_by_the_reference_where_the_report_is_in_words() -> None:
    assert row(0.52, reported="about half").status == "reproduced"
    assert row([0.52, 1.0], reported=["about half", 1.0], reference=[0.52, None]).status == "reproduced"


def test_differs_only_with_a_note() -> None:
    assert row(0.525, note="One seed, and the source used another.").status == "differs"
    bare = row(0.525)
    assert bare.status == "in error"
    assert "explain it in a note" in bare.errors[0]


def test_differs_where_the_statement_fails_although_the_value_agrees() -> None:
    assert row(0.52, reported="nearly all", holds=False, note="Half of them.").status == "differs"
    assert row(0.52, reported="nearly all", holds=False).status == "in error"


def test_reason_and_citation() -> None:
    assert row(0, reason="A time on one machine.").status == "not reproduced"
    assert row(0, reason="Quoted.", cited=True).status == "cited"


def test_to_come_while_the_page_does_not_stand() -> None:
    for e in (entry(), Entry(**BASE), entry(reason="A time.")):
        assert status(e, {}, ["02-recurrent-network"]) == Row(e, "to come")


# --- errors: figure, page and remedy are named


@pytest.mark.parametrize(
    ("changes", "measurements", "words"),
    [
        ({"measurement": None}, {}, "has neither a measurement nor a reason"),
        ({}, {"b": 1.0}, "no page records the measurement 'a'"),
        ({}, {"a": 0.9}, "measured 0.900 is outside ± 0.01 of the reported 0.5 and of the reference 0.52"),
        ({}, {"a": [0.5, 0.5]}, "measured is 2 values, but the figure is one value"),
        ({"reported": [[1, 2], [3, 4]]}, {"a": [1, 2]}, "measured is 2 values, but the figure is 2 x 2 values"),
        ({"reported": None, "reference": None}, {"a": 1}, "has nothing to compare with"),
        ({}, {"a": math.nan}, "is outside"),
        ({}, {"a": None}, "is outside"),
        ({"reported": [1, None], "reference": [1, 2]}, {"a": [1, 3]}, "is outside"),
    ],
)
def test_error(changes: dict[str, Any], measurements: dict[str, Any], words: str) -> None:
    tie = {"measurement": "a", "tolerance": {"abs": 0.01}}
    (message,) = ledger_errors([Entry(**(BASE | tie | changes))], measurements, [PAGE])
    assert words in message
    assert message.startswith("s0.a (page lab-08-race): ")
    assert message.endswith("(tests/expected/sources.yml)")


def test_no_error_for_pages_that_do_not_stand() -> None:
    assert ledger_errors([Entry(**BASE)], {}, []) == []


# --- figures in notes and reasons


@pytest.mark.parametrize("remark", [
    "The nineteen new sets reach {measured}`b:.3f`, or {measured}`c[1]:.1%` of the rows.",
    "The reported 0.5 stays, and 0.52 as well.",  # its own figures
    "So 0.518 it is, and 51.8 % of the rows.",  # the reference 0.5177, to the digits that are typed
    "At gain 1.5 it grows.",  # what the entry is about
    "The source has 0.571 in its table, e.g. for 12 % of them.",
    "In the reference it was 0.571.",
    "In 3 of 10 runs, after 1,000 updates.",
])
def test_a_remark_may_type_what_is_not_measured_here(remark: str) -> None:
    changed = entry(what="an accuracy at gain 1.5", reference=[0.52, 0.5177], note=remark)
    assert remark_faults(changed, {"b": 0.57, "c": [1.0, 0.25]}) == []


@pytest.mark.parametrize(("remark", "words"), [
    ("The original set is one of the twenty. The new ones reach 0.564.", "types 0.564"),
    ("The source has 0.571. Here it is 0.564.", "types 0.564"),
    ("Right in 12 % of the rows.", "types 12 %"),
    ("The page checks that it is below 1e-9.", "types 1e-9"),
    ("It is below 10⁻⁹.", "types 10⁻⁹"),
    ("It is 0.51.", "types 0.51;"),  # not the reported 0.5, which has fewer digits
    ("The new ones reach {measured}`seq-twenty:.3f`.", "no page records a measurement named seq-twenty"),
    ("The new ones reach {measured}`b[2]:.3f`.", "has an index too many"),
    ("The new ones reach {measured}`b`.", "say with how many digits"),
    ("The new ones reach {measured} b.", "a role without a quotation"),
])
def test_a_remark_that_types_a_measurement_or_quotes_none(remark: str, words: str) -> None:
    for field in ("note", "reason"):
        (message,) = ledger_errors([entry(**{"reason": "Not run.", field: remark})], {"b": 0.57}, [PAGE])
        assert words in message
        assert message.startswith("s0.a (page lab-08-race): its remark ")
    assert ledger_errors([entry(note=remark)], {}, []) == []  # the page does not stand


@pytest.mark.parametrize(("figure", "typed", "holds"), [
    (0.5743, "0.574", True), (0.5743, "0.564", False), (0.5743, "57.4 %", True), (0.5743, "57.5 %", False), (5.5, "5.5", True),
    ([None, {"a": 6.64e-16}], "6.64e-16", True), ("more than 0.3", "0.3", True), ("about 1e-17", "3e-17", False),
    (None, "0.3", False),
])
def test_a_figure_states_a_typed_number_to_its_digits(figure: Any, typed: str, holds: bool) -> None:
    assert states(figure, typed) == holds


def test_the_table_leaves_quotations_to_the_page() -> None:
    assert escaped("a *b* {measured}`c-d[2]:.3f`\n|") == r"a \*b\* {measured}`c-d[2]:.3f` \|"
    text = table([entry(note="It *reaches* {measured}`a:.3f`.")], {"a": 0.5}, [PAGE])
    assert text.endswith("\n1. It \\*reaches\\* {measured}`a:.3f`.\n")


def test_the_page_of_the_ledger_changes_with_a_measurement_that_a_remark_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"measurements": {"a": 0.5}, "origins": {}, "runs": {}}
    monkeypatch.setattr(extension, "told", lambda: told)
    monkeypatch.setattr(extension, "results", lambda: SimpleNamespace(project=Project(ROOT)))
    monkeypatch.setattr(extension, "pages", lambda: {"reproduction": Page("reproduction", "```{ledger}\n```")})
    monkeypatch.setitem(extension.GENERATED, "```{ledger}\n```", lambda: "1. It reaches {measured}`a:.1f`.")
    before = extension.page_state("reproduction")
    assert extension.page_state("reproduction") == before
    told["measurements"]["a"] = 0.6
    assert extension.page_state("reproduction") != before


# --- names of measurements


def test_look_up_by_name_index_and_list() -> None:
    values = {"race-curve": [0.1, [0.2, 0.3]], "b": 4, "c-0.5": 5}
    assert look_up("race-curve[0]", values) == 0.1
    assert look_up("race-curve[1][1]", values) == 0.3
    assert look_up(["b", "race-curve[1]", "c-0.5"], values) == [4, [0.2, 0.3], 5]
    for name in ("race-curve[2]", "b[0]", "race-curve[1][2]"):
        with pytest.raises(LookupError, match="has no element"):
            look_up(name, values)
    with pytest.raises(LookupError, match="no page records"):
        look_up("missing", values)


def test_scale_turns_a_share_into_percent() -> None:
    assert row([0.209, True], reported=[20.9, True], reference=None, scale=100).measured == [pytest.approx(20.9), True]
    assert row(0.209, reported=20.9, scale=100).status == "reproduced"


# --- shapes


def test_mappings_count_as_lists_and_nulls_are_skipped() -> None:
    assert row([[1, 2], [3, 4]], reported={"a": [1, None], "b": None}, reference={"x": None, "y": [3, 4]}).status == (
        "reproduced"
    )
    assert align([1, [2, 3]], None, [1, None]) == [(1, None, 1), (2, None, None), (3, None, None)]
    assert leaves({"a": [1, None], "b": 2}) == [1, None, 2]


def test_an_element_that_was_not_reported_is_held_against_the_reference() -> None:
    assert row([1.0, 2.0], reported=[1.0, None], reference=[9.0, 2.0]).status == "reproduced"
    assert row([1.0, 2.5], reported=[1.0, None], reference=[9.0, 2.0]).status == "in error"


@pytest.mark.parametrize(
    ("value", "words"),
    [(1, "one value"), ([1, 2], "2 values"), ([[1, 2], None], "2 x 2 values"), ([1, [2]], "2 lists of unequal shape")],
)
def test_shape(value: Any, words: str) -> None:
    assert shape(value) == words


# --- tolerances


@given(FINITE, FINITE, st.floats(min_value=-1, max_value=1))
def test_absolute_tolerance(figure: float, size: float, share: float) -> None:
    assert agrees(figure + 0.999 * share * size, figure, "abs", size)
    beyond = figure + math.copysign(1.001 * size + 1e-6 * figure + 0.06, share)
    assert not agrees(beyond + math.copysign(figure, share), figure, "abs", size)


@given(FINITE, st.floats(min_value=1e-3, max_value=0.5), st.floats(min_value=-1, max_value=1))
def test_relative_tolerance(figure: float, size: float, share: float) -> None:
    assert agrees(figure * (1 + 0.999 * share * size), figure, "rel", size)
    assert agrees(-figure * (1 + 0.999 * share * size), -figure, "rel", size)
    assert not agrees(figure * (1 + size) * 1.6, figure, "rel", size)


@given(st.floats(min_value=-250, max_value=250), st.floats(min_value=0.05, max_value=2), st.floats(-1, 1))
def test_decades(exponent: float, size: float, share: float) -> None:
    figure = 10.0**exponent
    assert agrees(10.0 ** (exponent + 0.999 * share * size), figure, "decades", size)
    assert not agrees(10.0 ** (exponent + math.copysign(1.01 * size + 0.3, share)), figure, "decades", size)
    assert not agrees(-figure, figure, "decades", size)
    assert not agrees(0.0, figure, "decades", size)
    assert not agrees(figure, 0.0, "decades", size)
    assert agrees(0.0, 0.0, "decades", size)


@given(st.one_of(st.integers(), st.text(), st.booleans(), st.floats(allow_nan=False)))
def test_equal(figure: Any) -> None:
    assert agrees(figure, figure, "equal", 0.0)


@pytest.mark.parametrize(
    ("measured", "figure", "kind", "size"),
    [
        (6442450945, 6442450944, "equal", 0),
        ("AB", "BA", "equal", 0),
        ("AB", "BA", "abs", 9),
        (True, False, "abs", 9),
        (1.0, "one", "abs", 9),
        (math.inf, 1.0, "abs", 9),
        (math.nan, math.nan, "rel", 9),
        (0.96, 1.0, "abs", 0.001),  # a whole number does not count as rounded
        (0.54, 0.5, "abs", 0.001),  # nor does a single digit
        (0.254, 0.25, "equal", 0),
    ],
)
def test_disagreement(measured: Any, figure: Any, kind: str, size: float) -> None:
    assert not agrees(measured, figure, kind, size)


def test_a_value_that_rounds_to_the_printed_figure_agrees() -> None:
    assert agrees(0.568, 0.57, "abs", 0.001)
    assert agrees(5.666e-82, 5.7e-82, "rel", 1e-3)
    assert not agrees(0.564, 0.57, "abs", 0.001)


# --- the file: faults are named


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"measurment": "a"}, "unknown field 'measurment'"),
        ({"measurement": "a"}, "measurement and tolerance stand together"),
        ({"tolerance": {"abs": 1.0}}, "measurement and tolerance stand together"),
        ({"measurement": "a", "tolerance": {"abs": 0.1}, "reason": "none"}, "both a measurement and a reason"),
        ({"measurement": "A b", "tolerance": {"abs": 0.1}}, "is no name, name[3] or name[1][2]"),
        ({"measurement": [], "tolerance": {"abs": 0.1}}, "empty list"),
        ({"measurement": "a", "tolerance": {"about": 0.1}}, "exactly one of abs, rel, decades, equal"),
        ({"measurement": "a", "tolerance": {"abs": 0.1, "rel": 0.1}}, "exactly one of"),
        ({"measurement": "a", "tolerance": {"abs": "1e-9"}}, "write 1.0e-9"),
        ({"measurement": "a", "tolerance": {"rel": 0}}, "must be a positive number"),
        ({"measurement": "a", "tolerance": {"equal": 1}}, "only true is allowed"),
        ({"measurement": "a", "tolerance": {"abs": 1.0}, "scale": "100"}, "scale is '100'"),
        ({"cited": True}, "is cited, so it needs a reason"),
        ({"cited": "yes"}, "it must be true or false"),
        ({"page": 8}, "page is 8; it must be text"),
        ({"note": " "}, "it must be text"),
    ],
)
def test_load_names_the_fault(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    path = written_to(tmp_path / "sources.yml", [BASE | changes])
    with pytest.raises(ValueError, match="entry 1") as caught:
        load(path)
    assert words in str(caught.value)


def test_load_reports_all_faults_at_once(tmp_path: Path) -> None:
    missing = {key: value for key, value in BASE.items() if key != "reference"}
    path = written_to(tmp_path / "sources.yml", [BASE, missing, BASE | {"id": "b", "why": 1}])
    with pytest.raises(ValueError) as caught:
        load(path)
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert "entry 2 (s0.a): the field 'reference' is missing" in lines[0]
    assert "the id s0.a stands 2 times" in lines[2]


def test_load_refuses_what_is_no_list_of_entries(tmp_path: Path) -> None:
    (tmp_path / "sources.yml").write_text("just text\n", encoding="utf-8")
    with pytest.raises(ValueError, match="a mapping is expected"):
        load(tmp_path / "sources.yml")


def test_load_reads_a_good_entry(tmp_path: Path) -> None:
    tie = {"measurement": ["a", "b[1]"], "tolerance": {"equal": True}}
    assert load(written_to(tmp_path / "sources.yml", [BASE | tie])) == [Entry(**(BASE | tie))]


# --- how values are written, and the table


@pytest.mark.parametrize(
    ("value", "kind", "size", "words"),
    [
        (0.56841, "abs", 0.01, "0.568"),
        (5.666e-82, "decades", 0.05, "5.67 × 10⁻⁸²"),
        (117.390853, "rel", 0.001, "117.39"),
        (3.1e-16, "abs", 1e-9, "below 1 × 10⁻⁹"),
        (107296, "equal", 0.0, "107,296"),
        (8.2e11, "decades", 0.5, "8.2 × 10¹¹"),
        (-0.61249, "abs", 0.05, "−0.61"),
        (-7, None, 0.0, "−7"),
        (0.0, "abs", 0.01, "0"),
        (0.25, "abs", 1e-9, "0.25"),
        (1733.23, "decades", 0.1, "1733"),
        (17330.0, "decades", 0.1, "17,330"),
        (1.0, "abs", 0.01, "1.000"),
        (True, "equal", 0.0, "yes"),
        (None, None, 0.0, "—"),
        ("a|b*", None, 0.0, r"a\|b\*"),
        (math.inf, "abs", 0.1, "inf"),
        (0.0, "decades", 0.1, "0"),
    ],
)
def test_single_value(value: Any, kind: str | None, size: float, words: str) -> None:
    assert single(value, kind, size) == words


def test_lists_are_written_in_rows_and_long_ones_shortened() -> None:
    assert written([107296, 106144]) == "107296, 106144"
    assert written([[1, 2], [3, None]]) == "1, 2; 3, —"
    assert written({"b": 1, "c_d": [2, 3]}) == r"b: 1; c\_d: 2, 3"
    assert written(list(range(20))) == "0, 1, 2, 3, …, 19 (20 values)"


def test_table_has_a_section_for_each_page_that_stands_with_notes_and_counts() -> None:
    entries = [
        entry(id="x", what="a | b"),
        entry(id="y", reported=0.6, note="One seed *only*."),
        entry(id="z", reason="A time on one machine.", reported=12.0),
        entry(id="t", reason="A time on one machine.", reported=13.0),
        entry(id="later", page="03-bptt"),
    ]
    text = table(entries, {"a": 0.521}, [PAGE, "quiz"], {PAGE: "Race"}, level=2)
    lines = text.splitlines()
    assert lines[0] == "**5 figures** · 1 differs · 2 not reproduced · 1 to come · 1 in error."
    assert "## Race" in lines
    assert "Measured in {doc}`lab-08-race`." in lines
    assert "quiz" not in text
    rows = [line for line in lines if line.startswith("| ") and "S0" in line]
    assert len(rows) == 4
    assert all(line.replace(r"\|", "").count("|") == 6 for line in rows)
    assert rows[1].endswith("| 0.6 | 0.521 | ± 0.01 | differs (note 1) |")
    assert rows[2].endswith("| 12 | — | — | not reproduced (note 2) |")
    assert rows[3].endswith("not reproduced (note 2) |")
    assert r"1. One seed \*only\*." in lines
    assert lines[-1] == "| 03-bptt | 1 |"


@pytest.mark.parametrize(
    ("page", "title"),
    [("lab-08-race", "Lab 8: race"), ("02-recurrent-network", "Recurrent network"), ("quiz", "Quiz")],
)
def test_a_page_without_title_is_named_after_its_file(page: str, title: str) -> None:
    assert f"\n### {title}\n" in table([entry(page=page)], {"a": 0.5}, [page])
