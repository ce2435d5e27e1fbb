"""Measurements as prose quotes them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessonlib.book.quote import MINUS, ROLE, format_value, lookup, parse, quoted

MEASUREMENTS = {"race-loss": 0.12345, "race-curve": [[1.0, 2.5], [3.0, -4.0]], "race-steps": 12000, "race-word": "copy",
                "decay-0.9-norm": 7.8e-57}


@pytest.mark.parametrize("value, spec, text", [
    (0.12345, ".3f", "0.123"),
    (-0.5, "+.2f", f"{MINUS}0.50"),
    (0.5, "+.2f", "+0.50"),
    (0.256, ".1%", "25.6%"),
    (12000, ",d", "12,000"),
    (12000, "", "12000"),
    (-3, "d", f"{MINUS}3"),
    ("copy", "", "copy"),
    ("well-known", "", "well-known"),
    (7.8e-57, ".1e", "7.8 × 10⁻⁵⁷"),
    (-6.02e23, ".2e", f"{MINUS}6.02 × 10²³"),
    (1e5, ".0e", "1 × 10⁵"),
    (9.99e9, ".1E", "1.0 × 10¹⁰"),
    (1e-9, ".3g", "1 × 10⁻⁹"),
    (0.0, ".1e", "0"),
    (-0.0001, ".2f", "0.00"),
    (-0.0, ".1e", "0"),
    (math.nan, ".1%", "nan"),
    (math.inf, ".3f", "inf"),
    (-math.inf, "", f"{MINUS}inf"),
    (True, "", "True"),
])
def test_a_value_is_written_by_its_format(value, spec, text):
    assert format_value(value, spec) == text


@given(st.floats(min_value=1e-300, max_value=1e300), st.booleans())
def test_a_power_of_ten_can_be_read_back(size, negative):
    value = -size if negative else size
    mantissa, exponent = format_value(value, ".16e").replace(MINUS, "-").split(" × 10")
    plain = exponent.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-"))
    assert float(f"{mantissa}e{plain}") == value


@pytest.mark.parametrize("value, spec, message", [
    ([1, 2], ".2f", "a list of 2"),
    (0.5, "", "how many digits"),
    (0.5, "d", "does not suit the value 0.5"),
    (0.5, ".2q", "does not suit"),
    ("copy", ".3f", "does not suit the value 'copy'"),
    (True, "d", "takes no format"),
    (None, ".2f", "does not suit"),
])
def test_a_format_that_does_not_suit_is_refused(value, spec, message):
    with pytest.raises(ValueError, match=message):
        format_value(value, spec)


def test_a_target_names_a_measurement_or_an_element_of_it():
    assert lookup(MEASUREMENTS, "race-loss") == lookup(MEASUREMENTS, "race-loss:.3f") == 0.12345
    assert lookup(MEASUREMENTS, "race-curve[1]") == [3.0, -4.0]
    assert lookup(MEASUREMENTS, "race-curve[1][-2]:.1f") == 3.0
    assert quoted(MEASUREMENTS, "race-curve[1][1]:.1f") == f"{MINUS}4.0"
    assert quoted(MEASUREMENTS, "decay-0.9-norm:.1e") == "7.8 × 10⁻⁵⁷"
    assert quoted(MEASUREMENTS, "race-word") == "copy"
    assert parse("race-curve[1][-2]:,.1f") == ("race-curve", [1, -2], ",.1f")


@pytest.mark.parametrize("target, message", [
    ("race-los:.3f", "named race-los; did you mean race-loss?"),
    ("zebra:.3f", "named zebra$"),
    ("race-curve[2]", "no element 2: the list there has 2"),
    ("race-curve[-3]", "no element -3"),
    ("race-loss[0]", "an index too many"),
    ("Race Loss", "is no measurement"),
    ("race-curve[x]", "is no measurement"),
    ("", "is no measurement"),
    ("race-curve[0]:.1f", "race-curve.*list of 2"),
    ("race-steps:.2q", "race-steps:.2q.*does not suit"),
])
def test_a_target_that_leads_nowhere_is_refused(target, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        quoted(MEASUREMENTS, target)


def test_the_role_is_found_in_prose():
    text = "A loss of {measured}`race-loss:.3f` after {measured}`race-steps:,d` steps."
    assert [match["target"] for match in ROLE.finditer(text)] == ["race-loss:.3f", "race-steps:,d"]
