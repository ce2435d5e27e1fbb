"""The number contract: what moves beyond its tolerance is caught, what moves within it is not.

The property tests draw a layout (columns, an HTML table, tuples, lists, dictionaries, lines of names and values)
and numbers in every notation. A drawn number is a count of its last printed digits, so that the tests
know how far it moved without reading any text.
"""

import math
import re
from dataclasses import dataclass, replace

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from lessonlib.book.compare import CLASSES, Drift, cell_class, compare, compare_value, count_numbers
from lessonlib.book.printed import printed_text

settings.register_profile("book", deadline=None, derandomize=True, database=None, max_examples=60)
settings.load_profile("book")


# ---------------------------------------------------------------- drawn texts

@dataclass(frozen=True)
class Drawn:
    """The number units × 10^(power - decimals) in a notation; `moved` gives one so many last digits away."""

    units: int
    decimals: int
    power: int | None = None
    form: str = "{}"
    grouped: bool = False
    times: str = "e"

    def __str__(self):
        digits = str(abs(self.units)).rjust(self.decimals + 1, "0")
        whole, part = digits[:len(digits) - self.decimals], digits[len(digits) - self.decimals:]
        text = ("-" if self.units < 0 else "") + (f"{int(whole):,}" if self.grouped else whole) + ("." + part if part else "")
        if self.power is not None:
            text += {"e": f"e{self.power:+03d}", "E": f"E{self.power:+d}", "×": f" × 10^{self.power}",
                     "⁻": " × 10" + str(self.power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))}[self.times]
        return self.form.format(text)

    def moved(self, units):
        return replace(self, units=self.units + units)

    @property
    def unit(self):
        return 10.0 ** ((self.power or 0) - self.decimals)


FORMS = st.sampled_from(["{}", "{}", "{}%", "{}ms", "n={}", "({}+2j)"])
ROOM = 500  # a number moves at most so many last digits in these tests, and keeps its length
floats = st.builds(Drawn, st.integers(-10**7, 10**7), st.integers(1, 6), st.none(), FORMS, st.booleans())
factors = st.builds(Drawn, st.integers(ROOM, 10**5), st.integers(1, 3), st.none(), st.sampled_from(["x{}", "±{}"]))
scientific = st.builds(Drawn, st.sampled_from([-1, 1]).flatmap(lambda sign: st.integers(2000, 8000).map(lambda units: sign * units)),
                       st.just(3), st.integers(-300, 300), st.sampled_from(["{}", "g={}"]), st.just(False), st.sampled_from("eE×⁻"))
integers = st.builds(Drawn, st.integers(-10**6, 10**6), st.just(0), st.none(), FORMS, st.booleans())
negative_zero = st.sampled_from(["-0.0", "-0.000"])
not_finite = st.sampled_from(["nan", "inf", "-inf"])
names = st.sampled_from(["GRU", "LSTM", "W_h1", "conv2d", "step", "utf-8", "1.2.3", "loss"])
movable = st.one_of(floats, factors, scientific, integers)


def columns(rows):
    return "\n".join(f"{name:<10}" + "".join(f"  {number!s:>14}" for number in line).rstrip() for name, line in rows)


def html(rows):
    body = "".join(f"<tr><th>{name}</th>" + "".join(f"<td>{number}</td>" for number in line) + "</tr>" for name, line in rows)
    output = {"output_type": "execute_result", "data": {"text/html": f"<table>{body}</table>", "text/plain": "no"}}
    return printed_text({"outputs": [output]})


LAYOUTS = [
    columns, html,
    lambda rows: "\n".join(f"{name} ({', '.join(map(str, line))})" for name, line in rows),
    lambda rows: "\n".join(f"{name}: [{', '.join(map(str, line))}]" for name, line in rows),
    lambda rows: "{" + ", ".join(f"'{name}': [{', '.join(map(str, line))}]" for name, line in rows) + "}",
    lambda rows: "\n".join(f"{name} = {number}" for name, line in rows for number in line),
]
layouts = st.sampled_from(LAYOUTS)


@st.composite
def tables(draw, number=movable, others=None):
    """A layout, rows with a marked number at a known place, and that number."""
    others = number | negative_zero | not_finite if others is None else others
    rows = [(draw(names), draw(st.lists(others, min_size=1, max_size=3))) for _ in range(draw(st.integers(1, 4)))]
    row = draw(st.integers(0, len(rows) - 1))
    place = draw(st.integers(0, len(rows[row][1]) - 1))
    rows[row][1][place] = marked = draw(number)
    index = sum(len(line) for _, line in rows[:row]) + place

    def text(number=marked):
        changed = [(name, list(line)) for name, line in rows]
        changed[row][1][place] = number
        return layout(changed)

    layout = draw(layouts)
    return text, marked, index, [number for _, line in rows for number in line]


def worst_share(*arguments):
    """The largest share of its tolerance that a number uses up; infinite where words moved."""
    return max((drift.size for drift in compare(*arguments, least=0.0)), default=0.0)


def with_imaginary(numbers, bands):
    """Bands for the numbers of a text: one drawn as `(1+2j)` holds two numbers."""
    return [band for number, own in zip(numbers, bands, strict=True)
            for band in ([own, None] if "j" in str(number) else [own])]


steps = st.integers(-ROOM, ROOM)


def keeps_its_shape(marked, other):
    """Whether a moved number of the scientific kind still has one digit before its point."""
    return marked.power is None or 1000 <= abs(other.units) <= 9999


def is_whole(marked, kind):
    """Whether a number is equal or it moved: a count, and outside `trained` a fraction with one digit, such as 0.5."""
    return marked.decimals == 0 or kind != "trained" and marked.power is None and 1 <= abs(marked.units) <= 9


# ---------------------------------------------------------------- properties, class by class

@given(tables(), steps)
def test_printed_numbers_may_move_one_last_digit_and_integers_none(table, step):
    text, marked, _, _ = table
    other = marked.moved(step)
    assume(keeps_its_shape(marked, other))
    drifts = compare(text(), text(other), "printed")
    allowed = 0 if is_whole(marked, "printed") else 1
    if abs(step) <= allowed:
        assert drifts == []
        assert worst_share(text(), text(other), "printed") == pytest.approx(abs(step), rel=1e-9)
    else:
        (drift,) = drifts
        assert drift.size == (pytest.approx(abs(step), rel=1e-9) if allowed else math.inf)
        assert drift.got in str(other)
        assert drift.recorded in str(marked)
        assert drift.text[drift.column - 1:].startswith(drift.got)
        assert drift.text == text(other).split("\n")[drift.line - 1]
        assert worst_share(text(), text(other), "printed") == drift.size


@given(tables(floats | scientific), st.sampled_from([-2, -1, 1, 2]))
def test_printed_numbers_at_the_very_edge(table, step):
    text, marked, _, _ = table
    assert bool(compare(text(), text(marked.moved(step)), "printed")) == (abs(step) > (not is_whole(marked, "printed")))


@given(tables(), steps, st.integers(0, ROOM))
def test_trained_numbers_may_move_within_their_band(table, step, units):
    text, marked, index, numbers = table
    other = marked.moved(step)
    assume(keeps_its_shape(marked, other))
    bands = [None] * len(numbers)
    bands[index] = units * marked.unit
    bands = with_imaginary(numbers, bands)
    drifts = compare(text(), text(other), "trained", bands)
    tolerance = max(units, 0 if marked.decimals == 0 else 1)  # never below one last digit
    assert bool(drifts) == (abs(step) > tolerance)
    if drifts and tolerance:
        assert drifts[0].size == pytest.approx(abs(step) / tolerance, rel=1e-8)
    if tolerance:
        assert worst_share(text(), text(other), "trained", bands) == pytest.approx(abs(step) / tolerance, rel=1e-8)


@given(tables(), steps)
def test_trained_numbers_without_a_band_are_compared_as_printed(table, step):
    text, marked, _, _ = table
    assume(is_whole(marked, "trained") == is_whole(marked, "printed"))
    other = text(marked.moved(step))
    as_printed = [replace(drift, kind="trained") for drift in compare(text(), other, "printed")]
    assert compare(text(), other, "trained") == as_printed


@given(tables(), steps.filter(bool))
def test_exact_numbers_may_not_move(table, step):
    text, marked, _, _ = table
    (drift,) = compare(text(), text(marked.moved(step)), "exact")
    assert drift.size == math.inf


positive = scientific.map(lambda number: replace(number, units=abs(number.units)))


@given(tables(scientific), st.floats(-3, 3))
def test_magnitudes_may_move_three_tenths_of_a_decade(table, decades):
    text, marked, _, _ = table
    assume(abs(abs(decades) - 0.3) > 0.001)  # the digits of the drawn numbers are no finer
    units = round(marked.units * 10 ** (decades % 1))
    power = marked.power + math.floor(decades)
    if abs(units) > 9999:
        units, power = round(units / 10), power + 1
    other = replace(marked, units=units, power=power)
    assert bool(compare(text(), text(other), "magnitude")) == (abs(decades) > 0.3)
    assert worst_share(text(), text(other), "magnitude") == pytest.approx(abs(decades) / 0.3, abs=0.003)


@given(tables(scientific))
def test_magnitudes_keep_their_sign_and_are_zero_only_where_recorded(table):
    text, marked, _, _ = table
    opposite, zero = replace(marked, units=-marked.units), replace(marked, units=0)
    for one, other in [(marked, opposite), (marked, zero), (zero, marked), (marked, "nan"), (marked, "inf"), ("nan", marked)]:
        one, other = (number if isinstance(number, Drawn) else marked.form.format(number) for number in (one, other))
        (drift,) = compare(text(one), text(other), "magnitude")
        assert drift.size == math.inf
    assert compare(text(zero), text(zero), "magnitude") == []


@given(tables(), steps.filter(bool))
def test_counts_stay_exact_in_every_class_that_compares_numbers(table, step):
    text, _, _, _ = table
    lag, other = Drawn(7, 0), Drawn(7 + step, 0)
    for kind in ("exact", "printed", "trained", "magnitude"):
        (drift,) = compare(text(lag), text(other), kind)
        assert (drift.recorded, drift.size) == ("7", math.inf)


@given(tables(positive, integers), positive)
def test_timings_are_free(table, other):
    text, marked, _, _ = table
    other = replace(other, form=marked.form)
    assert compare(text(), text(other), "timing") == []
    assert worst_share(text(), text(other), "timing") == 0


@given(tables(positive, integers), st.sampled_from(["nan", "inf", "-inf", "0.000", "-1.500", "-1.5e-02", "0"]))
def test_timings_are_finite_and_positive(table, other):
    text, marked, _, _ = table
    (drift,) = compare(text(), text(marked.form.format(other)), "timing")
    assert (drift.got, drift.size) == (other, math.inf)


@given(tables(positive, integers), steps.filter(bool))
def test_counts_beside_timings_are_exact(table, step):
    text, _, _, _ = table
    assert len(compare(text(Drawn(64, 0)), text(Drawn(64 + step, 0)), "timing")) == 1
    assert len(compare(text(Drawn(64, 0)), text("6.5"), "timing")) == 1


lines = st.lists(st.text(alphabet="abc 019.,-", min_size=1).filter(str.strip), min_size=1, max_size=6)


@given(lines, lines)
def test_sampled_lines_are_free_and_their_number_is_not(recorded, got):
    drifts = compare("\n".join(recorded), "\n".join(got), "sampled")
    assert bool(drifts) == (len(recorded) != len(got))
    assert worst_share("\n".join(recorded), "\n".join(got), "sampled") == (math.inf if drifts else 0)


def test_a_sample_that_came_out_empty_is_caught():
    assert compare("the sea", "", "sampled")
    assert compare("the sea\nand", "the sea\n \n", "sampled")


@given(tables(), st.sampled_from(["nan", "inf", "-inf"]), st.sampled_from(["nan", "inf", "-inf"]))
def test_not_finite_numbers_stay_what_they_are(table, one, other):
    text, marked, _, _ = table
    for kind in ("exact", "printed", "trained", "magnitude"):
        assert bool(compare(text(one), text(other), kind)) == (one != other)
        assert compare(text(one), text(marked), kind)
        assert compare(text(marked), text(one), kind)


@given(tables(positive, positive | integers), st.randoms(use_true_random=False), st.sampled_from(["change", "insert", "drop", "swap"]))
def test_words_that_move_are_caught(table, random, what):
    text, _, _, _ = table
    words = re.findall(r"\S+", text())
    at = random.randrange(len(words))
    if what == "change":
        words[at] = "drifted"
    elif what == "insert":
        words.insert(at, "drifted")
    elif what == "drop":
        del words[at]
    else:
        assume(len(words) > 1)
        at = random.randrange(len(words) - 1)
        words[at], words[at + 1] = words[at + 1], words[at]
        assume(re.findall(r"[^\W\d]+", " ".join(words)) != re.findall(r"[^\W\d]+", text()))
    for kind in ("exact", "printed", "trained", "magnitude", "timing"):
        drifts = compare(" ".join(text().split()), " ".join(words), kind)
        assert drifts
        assert drifts[0].size == math.inf
        assert worst_share(" ".join(text().split()), " ".join(words), kind) == math.inf


@given(tables(), st.integers(0, 3))
def test_a_number_that_comes_or_goes_is_caught(table, at):
    text, _, _, _ = table
    more = text().split("\n")
    more.insert(at, "3.50")
    for kind in ("exact", "printed", "trained", "magnitude", "timing"):
        assert compare(text(), "\n".join(more), kind)
        assert compare("\n".join(more), text(), kind)


@given(tables())
def test_white_space_is_not_compared(table):
    text, _, _, _ = table
    for kind in ("exact", "printed", "trained", "magnitude"):
        assert compare(text(), re.sub(r"(?<![×*0-9]) (?![×*])", "   ", text()).replace("\n", "\n\n\t"), kind) == []


@given(st.text(), st.sampled_from(sorted(set(CLASSES) - {"timing"})))
@example("nan -inf -0.0 1e999 1e-999 7.8 × 10⁻⁵⁷ (1+2j) 1,024", "magnitude")
def test_a_text_agrees_with_itself(text, kind):
    assert compare(text, text, kind) == []
    assert worst_share(text, text, kind) == 0


@given(tables())
def test_a_table_agrees_with_itself(table):
    text, _, _, numbers = table
    for kind in set(CLASSES) - {"timing"}:
        assert compare(text(), text(), kind) == []
    assert compare(text(), text(), "trained", with_imaginary(numbers, [0.5] * len(numbers))) == []


# ---------------------------------------------------------------- examples

@pytest.mark.parametrize(("recorded", "got", "kind", "bands", "passes"), [
    ("0.3", "0.4", "printed", None, False), ("0.2", "0.4", "printed", None, False),  # binary: 0.4 - 0.3 > 0.1
    ("1.1", "1.2", "printed", None, True), ("1000000.1", "1000000.2", "printed", None, True),
    ("0.12345678901234567", "0.12345678901234569", "printed", None, False),  # two units of a digit that no float holds
    ("0.50", "0.5", "printed", None, False), ("0.5", "0.50", "trained", [0.1], False), ("1.3e+00", "1.3", "printed", None, False),
    ("9.9e-06", "1.0e-05", "printed", None, True), ("1.0e-05", "9.9e-06", "printed", None, True), ("9.8e-06", "1.0e-05", "printed", None, False),
    ("0.01", "0.02", "printed", None, False), ("0.9", "1.0", "printed", None, False), ("0.01", "0.01", "printed", None, True),
    ("0.5", "0.6", "trained", None, True), ("0.00", "0.01", "printed", None, True), ("1e-4", "1e-1", "timing", None, False),
    ("1e-05", "1e-05", "printed", None, True), ("1e-05", "2e-05", "printed", None, False), ("1e-05", "1e-06", "printed", None, False),
    ("1e-05", "2e-05", "trained", [1e-6], True), ("1e-05", "3e-05", "trained", [1e-6], False), ("10⁻⁵", "10⁻⁶", "printed", None, False),
    ("-0.0", "0.0", "printed", None, True), ("-0.0", "0.0", "exact", None, False), ("-0.0", "0.0", "magnitude", None, True),
    ("-0", "0", "printed", None, True), ("1,024", "1,025", "printed", None, False), ("107,296", "107,296", "exact", None, True),
    ("1,024", "1024", "exact", None, False), ("12.5%", "12.6 %", "printed", None, True), ("12.5%", "12.7%", "printed", None, False),
    ("12.5%", "12.5", "printed", None, False), ("12ms", "12s", "printed", None, False), ("1.2.3", "1.2.4", "trained", [], False),
    ("a 100", "a 90", "trained", [10], True), ("a 100", "a 89", "trained", [10], False), ("100", "101", "trained", [0.5], False),
    ("0.10 0.20", "0.15 0.21", "trained", [0.05, 0], True), ("0.10 0.20", "0.11 0.25", "trained", [0.05, 0], False),
    ("0.3", "0.6000", "trained", [math.inf], None), ("0.3", "0.3", "trained", [-0.1], None), ("0.3", "0.3", "trained", [0.1, 0.1], None),
    ("nan 1.0", "nan 1.5", "trained", [math.nan, 0.5], True), ("0.70", "1.00", "trained", [0.1 + 0.2], True), ("0.10", "0.20", "trained", [0.3 - 0.2], True),  # 0.09999999999999998
   
    ("1.00", "1.99", "magnitude", None, True), ("1.00", "2.01", "magnitude", None, False), ("1.00", "0.51", "magnitude", None, True),
    ("1.00", "0.49", "magnitude", None, False), ("0.00", "0.01", "magnitude", None, False), ("1e-200", "1e-201", "magnitude", None, False),
    ("lag 3 2.0e-57", "lag 3 3.9e-57", "magnitude", None, True), ("lag 3 2.0e-57", "lag 4 2.0e-57", "magnitude", None, False),
    ("9.5", "12", "magnitude", None, True), ("3e-400", "4e-400", "magnitude", None, True),
    ("0.5 s", "12.81 s", "timing", None, True), ("0.5 s", "12.81 ms", "timing", None, False), ("5.1x", "0.7x", "timing", None, True),
    ("9.51 s", "12 s", "timing", None, True), ("0.5 s", "0.0 s", "timing", None, False), ("0.5 s", "s", "timing", None, False),
    ("0x7f3a", "0x7f3b", "printed", None, False), ("True", "False", "printed", None, False), ("", "", "sampled", None, True),
    ("", "1", "printed", None, False), ("1", "", "printed", None, False), ("(1.00+2.00j)", "(1.00-2.00j)", "printed", None, False),
    ("(1.00+0.00j)", "(1.00-0.00j)", "printed", None, True), ("12 - 3", "12 -3", "printed", None, False),
])
def test_tricky_forms(recorded, got, kind, bands, passes):
    if passes is None:
        with pytest.raises(ValueError, match="band"):
            compare(recorded, got, kind, bands)
    else:
        assert (compare(recorded, got, kind, bands) == []) is passes


def test_a_failure_explains_itself():
    (drift,) = compare("GRU  step 1000  accuracy 0.5684", "GRU  step 1000  accuracy 0.5912", "trained", [None, 0.01])
    assert str(drift).split("\n") == [
        "recorded   0.5684   got   0.5912   tolerance ±0.01 (trained)   2.28 tolerances away",
        "  GRU  step 1000  accuracy 0.5912",
        "                           ^^^^^^"]


def test_words_that_moved_are_shown_and_the_other_lines_still_compared():
    moved, drift = compare("a 1.0\nGRU 2.00\nend 3", "a 1.1\nLSTM 2.00\nend 4", "printed")
    assert str(moved).split("\n") == [
        "recorded   GRU   got   LSTM   tolerance none, words are equal (printed)", "  LSTM 2.00", "  ^^^^", "  - GRU 2.00", "  + LSTM 2.00"]
    assert (drift.recorded, drift.got, drift.line, drift.column) == ("3", "4", 3, 5)


def test_bands_keep_to_their_numbers_where_words_moved():
    moved, drift = compare("a 1.0 2.0\nb 3.0\nc 4.0", "a 1.0 2.0\nX b 3.0\nc 9.0", "trained", [0, 0, 0, 2.0])
    assert moved.size == math.inf
    assert drift.size == pytest.approx(2.5)


def test_what_is_missing_at_the_end_is_named():
    (drift,) = compare("a 1\nb 2", "a 1", "printed")
    assert (drift.recorded, drift.got, drift.line, drift.column) == ("b", "nothing", 1, 4)
    assert "  a 1\n     ^\n  - b 2" in drift.explain()


def test_a_long_difference_is_cut():
    (drift,) = compare("\n".join(f"a{i}" for i in range(40)), "b", "printed")
    assert drift.detail[-1] == "and 31 lines more"


def test_a_tab_does_not_shift_the_mark():
    (drift,) = compare("a\t1", "a\t2", "printed")
    assert drift.explain().split("\n")[1:] == ["  a\t2", "   \t^"]


def test_other_classes_pass_bands_over():
    assert compare("1.0", "1.5", "printed", [9.0, 9.0])
    assert compare("1.0", "1.1", "printed", [0.0]) == []


def test_count_numbers():
    assert count_numbers("W_h1 (1, 2.5) 1.2.3 nan 12ms") == 4
    assert count_numbers("") == 0


@pytest.mark.parametrize("call", [lambda: compare("1", "1", "loose"), lambda: compare_value(1, 1, "loose"), lambda: worst_share("", "", "")])
def test_unknown_classes_are_refused(call):
    with pytest.raises(ValueError, match="exact, printed, trained, magnitude, timing, sampled"):
        call()


def test_the_class_of_a_cell():
    assert cell_class([]) == cell_class(None) == cell_class(["hide-input"]) == "printed"
    assert [cell_class(["hide-input", kind]) for kind in CLASSES] == list(CLASSES)
    with pytest.raises(ValueError, match="exact and trained"):
        cell_class(["trained", "exact"])


# ---------------------------------------------------------------- measurements

significant = st.floats(-1e300, 1e300, allow_subnormal=False).filter(lambda value: abs(value) > 1e-290)


@given(significant, st.floats(-5, 5))
def test_measured_floats_may_move_one_unit_of_the_fourth_digit(value, units):
    assume(abs(abs(units) - 1) > 1e-6)
    got = value + units * 10.0 ** (int(f"{abs(value):.17e}".split("e")[1]) - 3)
    assume(f"{abs(value):.17e}"[:4] != "9.99" and math.isfinite(got))
    for kind in ("printed", "trained", "sampled"):
        assert bool(compare_value(value, got, kind)) == (abs(units) > 1)
    assert bool(compare_value(value, got, "exact")) == (got != value)


@given(significant, st.floats(1e-3, 1e3), st.floats(-3, 3))
def test_trained_measurements_may_move_within_their_band(value, scale, share):
    assume(abs(abs(share) - 1) > 1e-6)
    band = abs(value) * scale * 10
    got = value + share * band
    assume(math.isfinite(got))
    drifts = compare_value(value, got, "trained", band)
    assert bool(drifts) == (abs(share) > 1)
    if drifts:
        assert drifts[0].size == pytest.approx(abs(share), rel=1e-6)


@given(significant, st.floats(-2, 2))
def test_measured_magnitudes(value, decades):
    assume(abs(abs(decades) - 0.3) > 1e-9)
    got = value * 10.0 ** decades
    assume(math.isfinite(got))
    assert bool(compare_value(value, got, "magnitude")) == (abs(decades) > 0.3)
    assert compare_value(value, -got, "magnitude")


nested = st.recursive(st.integers() | st.floats(min_value=1e-300) | st.text() | st.booleans(), lambda item: st.lists(item, max_size=4), max_leaves=12)


@given(nested, st.sampled_from(sorted(set(CLASSES) - {"timing"})))
def test_a_measurement_agrees_with_itself(value, kind):
    assert compare_value(value, value, kind) == []


@given(nested, st.integers(0, 3))
def test_a_list_that_changes_its_shape_is_caught(value, more):
    for kind in CLASSES:
        assert compare_value([value], [value] * (more + 2), kind)
        assert compare_value([value], value, kind)
        assert compare_value(value, [value], kind)


@pytest.mark.parametrize(("recorded", "got", "kind", "band", "passes"), [
    (3, 3, "printed", None, True), (3, 4, "printed", None, False), (3, 4, "magnitude", None, False), (3, 5, "trained", 2, True),
    (3, 6, "trained", 2, False), (3, 4, "trained", None, False), (3, 3.0, "printed", None, False), (True, 1, "printed", None, False),
    (True, True, "exact", None, True), (True, False, "timing", None, False), ("a", "b", "printed", None, False), ("a", "b", "trained", 0.0, False),
    ("a", "b", "sampled", None, True),
    (10**20, 10**20 + 1, "exact", None, False), (3, 4, "sampled", None, False), (9.9996, 10.0006, "printed", None, True),
    (9.9996, 10.0007, "printed", None, False), (0.0, 1e-9, "printed", None, True), (0.0, 1.1e-9, "printed", None, False), (0.0, 0.05, "trained", 0.05, True),
    (0.0, 1e-300, "magnitude", None, False), (1e-300, 0.0, "magnitude", None, False), (0.0, -0.0, "magnitude", None, True),
    (0.0, -0.0, "exact", None, True), (0.1 + 0.2, 0.3, "exact", None, False), (0.1 + 0.2, 0.3, "printed", None, True),
    (math.nan, math.nan, "printed", None, True), (math.nan, 1.0, "trained", 5.0, False), (1.0, math.nan, "trained", 5.0, False),
    (math.inf, math.inf, "magnitude", None, True), (math.inf, -math.inf, "magnitude", None, False), (1.0, math.inf, "magnitude", None, False),
    (0.5, 12.0, "timing", None, True), (5, 7, "timing", None, False), (5, 5, "timing", None, True), (0.5, 0.0, "timing", None, False), (0.5, math.inf, "timing", None, False),
    (5, -1, "timing", None, False), ("0.5 s", "0.9 s", "timing", None, True), ("0.5 s", "0.9 ms", "timing", None, False),
    ([1.0, 2.0], [1.4, 2.4], "trained", 0.5, True), ([1.0, 2.0], [1.4, 2.4], "trained", [0.5, 0.1], False),
    ([1.0, [2.0, "x"]], [1.4, [2.4, "x"]], "trained", [0.5, [0.5, 0.0]], True), ([1.0], [1.0], "trained", [0.1, 0.1], None),
    (1.0, 1.0, "trained", [0.1], None), (1.0, 1.0, "trained", -1.0, None), (1.0, 1.0, "printed", [0.1], True), ((1, 2), [1, 2], "exact", None, True),
])
def test_measurements(recorded, got, kind, band, passes):
    if passes is None:
        with pytest.raises(ValueError, match="band"):
            compare_value(recorded, got, kind, band)
    else:
        assert (compare_value(recorded, got, kind, band) == []) is passes


def test_a_measurement_that_drifts_is_named():
    (drift,) = compare_value([1.0, [2.0, 3.0]], [1.0, [2.5, 3.0]], "trained", 0.25, name="race-curve")
    assert isinstance(drift, Drift)
    assert drift.explain() == ("recorded   2.0   got   2.5   tolerance ±0.25 (trained)   2 tolerances away\n"
                               "  measurement race-curve[1][0]")
    (drift,) = compare_value([1.0], [1.0, 2.0], "printed", name="race-curve")
    assert drift.explain() == "recorded   1 items   got   2 items   tolerance lists of equal length (printed)\n  measurement race-curve"
