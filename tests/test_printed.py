"""What a cell prints, and its words and numbers."""

import math
import re
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lessonlib.book.printed import Number, Word, html_text, printed_text, stderr_text, tokens

settings.register_profile("book", deadline=None, derandomize=True, database=None, max_examples=60)
settings.load_profile("book")


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def shown(kind="execute_result", **data):
    return {"output_type": kind, "data": {mime.replace("_", "/", 1): text for mime, text in data.items()}, "metadata": {}}


def cell(*outputs):
    return {"cell_type": "code", "source": "", "outputs": list(outputs)}


# ---------------------------------------------------------------- the text of a cell

def test_streams_are_joined_and_tidied():
    text = printed_text(cell(stream("a 1  \nb "), stream(["2\r\n", "c\t\n\n"])))
    assert text == "a 1\nb 2\nc"


def test_colours_are_removed():
    assert printed_text(cell(stream("\x1b[1;32m0.5\x1b[0m \x1b]8;;x\x07ok"))) == "0.5 ok"


def test_results_stand_on_lines_of_their_own_in_order():
    text = printed_text(cell(stream("loss"), shown(text_plain="0.5"), stream("x\n"), shown("display_data", text_plain=["1,\n", "2"])))
    assert text == "loss\n0.5\nx\n1,\n2"


def test_nothing_printed_is_no_text():
    assert printed_text(cell()) == ""
    assert printed_text({"cell_type": "code"}) == ""
    assert printed_text(cell(stream(" \n\n"), shown(image_png="…"))) == ""


def test_html_is_taken_before_plain_text_and_markdown_before_the_object():
    assert printed_text(cell(shown(text_html="<table><tr><th>a</th><td>1</td></tr></table>", text_plain="object"))) == "a | 1"
    assert printed_text(cell(shown(text_markdown="**1.5**", text_plain="<Markdown object>"))) == "**1.5**"
    assert printed_text(cell(shown(text_latex="$1.5$", text_plain="<Math object>"))) == "$1.5$"


def test_a_figure_is_its_description():
    assert printed_text(cell(shown(text_html="<svg><text>9.9</text></svg>", text_plain="[figure: loss 0.5]"))) == "[figure: loss 0.5]"
    assert printed_text(cell(shown(text_html="<p>3</p><SVG></SVG>", text_plain="[figure]"))) == "[figure]"
    assert printed_text(cell(shown(text_html="<p>at 3</p><SVG><text>9.9</text></SVG>"))) == "at 3"


def test_measurements_and_claims_are_hidden():
    hidden = {"output_type": "display_data", "data": {"application/vnd.lessonlib.claim+json": {"sentence": "A beats B"}, "text/plain": "3"}}
    assert printed_text(cell(hidden, shown(text_plain="1"))) == "1"


def test_standard_error_is_apart():
    noisy = cell(stream("1\n"), stream("UserWarning: \x1b[31mno\x1b[0m\n", "stderr"), shown(text_plain="2"))
    assert printed_text(noisy) == "1\n2"
    assert stderr_text(noisy) == "UserWarning: no"
    assert stderr_text(cell(stream("1"))) == ""


def test_an_intended_exception_shows_its_name_and_message_but_no_paths():
    error = {"output_type": "error", "ename": "ValueError", "evalue": "lag is 0", "traceback": ["File /home/x:12"]}
    assert printed_text(cell(error)) == "ValueError: lag is 0"


def test_html_tables_give_a_line_a_row():
    page = """
    <style>td { width: 12px }</style><script>var x = 1.5;</script>
    <p>Before &amp; <b>af</b>ter</p>
    <table><caption>Losses</caption>
      <thead><tr><th></th><th>loss</th><th>x<sup>2</sup></th></tr></thead>
      <tbody><tr><th>GRU</th>
        <td><span>0.</span>5</td><td><p>7.8 × 10<sup>−57</sup></p></td></tr>
      <tr><td>LSTM<br>big</td><td>0.4</td><td></td></tr></tbody></table>after<br>end"""
    assert html_text(page).split("\n") == [
        "Before & after", "Losses", "| loss | x^2", "GRU | 0.5 | 7.8 × 10^−57", "LSTM big | 0.4 |", "after", "end"]


def test_the_power_in_an_html_table_is_one_number():
    (number,) = tokens(html_text("<td>7.8 × 10<sup>−57</sup></td>"))
    assert number.value == pytest.approx(7.8e-57)


# ---------------------------------------------------------------- words and numbers

def numbers(text):
    return [token for token in tokens(text) if isinstance(token, Number)]


def split(text):
    """The tokens, numbers as values and words as text."""
    return [token.value if isinstance(token, Number) else token.text for token in tokens(text)]


@pytest.mark.parametrize(("text", "value", "unit", "integer"), [
    ("0", 0, 1, True), ("1000", 1000, 1, True), ("-3", -3, 1, True), ("+3", 3, 1, True), ("\u22123", -3, 1, True),
    ("1,024", 1024, 1, True), ("107,296", 107296, 1, True), ("-1,234,567", -1234567, 1, True),
    ("1,234.50", 1234.5, 0.01, False), ("0.5912", 0.5912, 1e-4, False), (".5", 0.5, 0.1, False), ("-0.0", 0.0, 0.1, False),
    ("1.3e-07", 1.3e-7, 1e-8, False), ("5.1E+3", 5100, 100, False), ("1e-05", 1e-5, 1e-5, False), ("2e3", 2000, 1000, False),
    ("1.5e\u22123", 1.5e-3, 1e-4, False),
    ("7.8 × 10⁻⁵⁷", 7.8e-57, 1e-58, False), ("-7.8×10^-57", -7.8e-57, 1e-58, False), ("2 * 10**4", 2e4, 1e4, False),
    ("7.8 x 10^{-5}", 7.8e-5, 1e-6, False), ("5.100 × 10⁰", 5.1, 1e-3, False), ("10⁻⁵", 1e-5, 1e-5, False), ("10^5", 1e5, 1e5, False), ("10**(-5)", 1e-5, 1e-5, False),
    ("inf", math.inf, 1, False), ("-inf", -math.inf, 1, False), ("Infinity", math.inf, 1, False), ("∞", math.inf, 1, False),
])
def test_a_number(text, value, unit, integer):
    (number,) = tokens(text)
    assert (number.value, number.is_integer, number.text) == (pytest.approx(value, rel=1e-14), integer, text)
    assert number.unit_in_last_place == pytest.approx(unit, rel=1e-14)
    assert type(number.value) is (int if integer else float)


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "NAN"])
def test_nan_is_a_number(text):
    (number,) = tokens(text)
    assert math.isnan(number.value)
    assert not number.is_integer


def test_negative_zero_keeps_its_text():
    (number,) = tokens("-0.00")
    assert (number.text, number.value == 0, number.exact.is_signed()) == ("-0.00", True, True)


def test_values_are_exact_decimals():
    assert numbers("0.1234567890123456789")[0].exact == Decimal("0.1234567890123456789")
    assert numbers("12345678901234567890")[0].value == 12345678901234567890


@pytest.mark.parametrize(("text", "expected"), [
    ("1, 2", [1, ",", 2]), ("(3,4)", ["(", 3, ",", 4, ")"]), ("1,2345", [1, ",", 2345]), ("0,123", [0, ",", 123]),
    ("[1,024, 5]", ["[", 1024, ",", 5, "]"]), ("1.5,200,300", [1.5, ",", 200, ",", 300]), ("1,234,5", [1, ",", 234, ",", 5]),
    ("12.5%", [12.5, "%"]), ("12 %", [12, "%"]), ("12ms", [12, "ms"]), ("0.5s", [0.5, "s"]), ("3x", [3, "x"]), ("x1.5", ["x", 1.5]),
    ("2.5µs", [2.5, "µs"]), ("5th", [5, "th"]), ("64x32", [64, "x32"]), ("2x1.5", [2, "x", 1.5]), ("×1.5", ["×", 1.5]),
    ("T=256", ["T", "=", 256]), ("lr=1e-3,", ["lr", "=", 1e-3, ","]), ("x=-0.5", ["x", "=", -0.5]), ("a[3]:.5", ["a", "[", 3, "]", ":", 0.5]),
    ("(1+2j)", ["(", 1, 2, "j", ")"]), ("(0.5-0.25j)", ["(", 0.5, -0.25, "j", ")"]), ("(1e-3-1e-05j)", ["(", 1e-3, -1e-5, "j", ")"]),
    ("1.5-infj", [1.5, -math.inf, "j"]),
    ("2-4", [2, "-", 4]), ("0.5-0.7", [0.5, "-", 0.7]), ("0.5 -0.7", [0.5, -0.7]), ("f(x)-0.5", ["f", "(", "x", ")", "-", 0.5]),
    ("GRU-0.5", ["GRU", "-", 0.5]), ("- 5", ["-", 5]), ("±0.3", ["±", 0.3]), ("3-layer", [3, "-", "layer"]),
    ("[1. 2.5]", ["[", 1, ".", 2.5, "]"]), ("step 5.", ["step", 5, "."]), ("0.+1.j", [0, ".", 1, ".", "j"]), ("128/256", [128, "/", 256]),
    ("{'a': 1, 2: -2.5}", ["{", "'", "a", "'", ":", 1, ",", 2, ":", -2.5, "}"]), ("<0.001", ["<", 0.001]),
    ("| 0.5 | -", ["|", 0.5, "|", "-"]), ("(10^-5)", ["(", 1e-5, ")"]), ("5 x 10", [5, "x", 10]),
])
def test_numbers_among_words(text, expected):
    assert split(text) == expected


@pytest.mark.parametrize("text", [
    "1.2.3", "v1.5", "2.13.0", "1.0.4.post1", "torch2.13.0", "torch-2.13.0", "2024-05-17", "17.05.2024", "0x7f3a", "3f9c2e71", "550e8400",
    "4e10f3", "W_h1", "conv2d", "utf-8", "s000.x", "x4", "0.weight", "net.0.weight", "layer1.0", "L-inf", "inf-norm", "nanmean", "infs",
    "_1", "1_000", "9" * 500,
])
def test_names_that_hold_digits_are_words(text):
    assert [(type(token), token.text) for token in tokens(text)] == [(Word, text)]


def test_places_count_from_one():
    found = tokens("a 1\n\n  -2.5%")
    assert [(token.text, token.line, token.column) for token in found] == [("a", 1, 1), ("1", 1, 3), ("-2.5", 3, 3), ("%", 3, 7)]


@given(st.text())
@example("7.8 × 10⁻⁵⁷ 1e999 1e-999 (1+2j)")
@example("9" * 5000 + ".5")
def test_nothing_but_white_space_is_lost(text):
    assert "".join(re.sub(r"\s", "", token.text) for token in tokens(text)) == re.sub(r"\s", "", text)


@given(st.text(alphabet="0123456789.,+-eE×10⁻⁵^*{}()[]xjnaif% \n_v\u2212"))
def test_tokens_stand_where_they_say(text):
    lines = text.split("\n")
    for token in tokens(text):
        assert lines[token.line - 1][token.column - 1:].startswith(token.text)
        if isinstance(token, Number):
            assert token.unit_in_last_place >= 0
            assert isinstance(token.value, (int, float))


@example(1e300, "{:.3f}")
@example(math.inf, "{:.6E}")
@given(st.floats(), st.sampled_from(["{:.3f}", "{!r}", "{:.2e}", "{:,.1f}", "{:+.4f}", "{:.6E}", "({:.2f},", "x={:.5f}s", "{:.1f}%"]))
def test_floats_as_python_prints_them(value, form):
    text = form.format(value)
    (number,) = numbers(text if math.isfinite(value) else text.replace("s", ""))
    printed = re.search(r"[-+]?(?:nan|inf|[0-9][0-9,.]*(?:e[-+]\d+)?)", text.lower())[0].rstrip(",")
    assert number.value == float(printed.replace(",", "")) or math.isnan(value)


@given(st.integers(), st.sampled_from(["{}", "{:,}", "({}, ", "n={}", "{}%", "{:+d}"]))
def test_integers_as_python_prints_them(value, form):
    (number,) = numbers(form.format(value))
    assert number.value == value
    assert number.is_integer
