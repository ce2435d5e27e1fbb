"""The maintenance log: its draws, its rules, its entropy by enumeration, and the audit on lines made by hand."""

import itertools

import numpy as np
import pytest

from lessonlib import maintenance_log as M
from lessonlib.drawings_characters import draw_rules

LINES = M.draw_log(1500, np.random.default_rng(0))


def test_draws_are_those_of_the_stated_protocol():
    """The same seed gives the same text, character by character, on every machine."""
    assert LINES == M.draw_log(1500, np.random.default_rng(0))
    assert LINES != M.draw_log(1500, np.random.default_rng(1))
    assert str(LINES[0]) == "C1 vib 3.0 mm/s operator check ok /C1\n"
    corpus = M.make_corpus(LINES)
    assert (len(corpus.text), len(corpus.alphabet), len(corpus.training), len(corpus.validation)) == (46196, 37, 41577, 4619)
    assert sum(line.status == "ok" for line in LINES) == 1099


def test_each_line_takes_four_draws_in_a_fixed_order():
    rng, other = np.random.default_rng(5), np.random.default_rng(5)
    line = M.draw_line(rng)
    tag, quantity = M.TAGS[other.integers(8)], M.QUANTITIES[other.integers(3)]
    value = round(float(other.uniform(quantity.low, quantity.high)), 1)
    assert line[:3] == (tag, quantity.name, value) and line.remark == M.REMARKS[other.integers(7)]
    assert rng.random() == other.random()


def test_ids_and_text_turn_into_each_other():
    corpus = M.make_corpus(LINES[:50])
    assert corpus.decode(np.concatenate([corpus.training, corpus.validation])) == corpus.text
    assert np.array_equal(corpus.encode(corpus.text[:40]), corpus.training[:40])
    with pytest.raises(ValueError, match="'X'"):
        corpus.encode("X")


def test_the_distances_are_those_of_the_characters():
    line = M.Line("F2", "pres", 4.0, "bar", "night shift", "ok", "F2")
    text = str(line)
    assert text == "F2 pres 4.0 bar night shift ok /F2\n"
    assert M.distances(line) == (text.index("/F2") + 1 - 1, text.index("ok") - text.index("4.0")) == (31, 20)
    rows = np.array([M.distances(line) for line in LINES])
    assert rows.min(0).tolist() == [18, 7] and rows.max(0).tolist() == [36, 24]


def test_fields_cover_the_text_in_order():
    fields = M.fields_of_text(LINES[:9])
    text = "".join(map(str, LINES[:9]))
    assert len(fields) == len(text)
    first = str(LINES[0])
    assert "".join(c for c, f in zip(first, fields, strict=False) if M.FIELDS[f] == M.VALUE) == "3.0 "
    assert "".join(c for c, f in zip(first, fields, strict=False) if M.FIELDS[f] == M.CLOSING) == "/C1\n"


# Entropy -----------------------------------------------------------------------------------------------------------

def every_line():
    """All lines that the generator can write, by enumeration."""
    for tag, quantity, remark in itertools.product(M.TAGS, M.QUANTITIES, set(M.REMARKS)):
        for k in range(quantity.n_values):
            value = round(quantity.low + k / 10, 1)
            status = "high" if value >= quantity.threshold else "ok"
            yield M.Line(tag, quantity.name, value, quantity.unit, remark, status, tag)


def test_the_entropy_equals_a_sum_over_all_lines():
    surprises = np.array([M.line_surprise(line) for line in every_line()])
    p = np.exp(-surprises)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert (p * surprises).sum() == pytest.approx(sum(M.entropy_by_field().values()), abs=1e-10)


def test_the_estimate_with_equal_values_is_close_to_the_exact_entropy():
    equal, exact = (sum(M.entropy_by_field(exact).values()) for exact in (False, True))
    assert equal == pytest.approx(9.5539, abs=5e-5) and 0 < equal - exact < 0.005
    assert M.entropy_by_field()[M.CLOSING] == M.entropy_by_field()[M.UNIT] == 0


def test_the_mean_surprise_of_drawn_lines_approaches_the_entropy():
    surprises = [M.line_surprise(line) for line in LINES]
    error = np.std(surprises) / np.sqrt(len(surprises))
    assert abs(np.mean(surprises) - sum(M.entropy_by_field().values())) < 4 * error


@pytest.mark.parametrize("change", [{"status": "high"}, {"closing": "P1"}, {"unit": "C"}, {"value": 9.9},
                                    {"tag": "F4", "closing": "F4"}, {"quantity": "flow"}, {"remark": "none"}])
def test_a_line_that_cannot_be_drawn_has_no_surprise(change):
    line = M.Line("F2", "pres", 4.0, "bar", "", "ok", "F2")._replace(**change)
    with pytest.raises(ValueError, match="never writes"):
        M.line_surprise(line)


# Audit -------------------------------------------------------------------------------------------------------------

def test_every_generated_line_is_read_back_and_breaks_no_rule():
    for line in LINES[:200]:
        assert M.read_line(str(line)[:-1]) == line and not M.broken_rules(line)


@pytest.mark.parametrize("text", ["", "F2 pres 4.0 bar ok", "F2 pres 4 bar ok /F2", "F5 pres 4.0 bar ok /F2", "F2  pres 4.0 bar ok /F2",
                                  "F2 pres 4.0 bar at night ok /F2", "F2 pres 4.0 bar ok /F2 ", "F2 flow 4.0 bar ok /F2"])
def test_malformed_lines_are_not_read(text):
    assert M.read_line(text) is None


def test_the_audit_counts_lines_made_by_hand():
    pieces = ("cut off /P1",                          # left out: the first piece
              "F2 pres 4.0 bar night shift ok /F2",   # keeps every rule
              "F2 pres 5.0 bar high /P1",             # at the threshold, high is right; closing tag
              "P1 temp 80.7 C ok /F2",                # status and closing tag
              "P1 vib 3.0 bar ok /P1",                # unit
              "P1 vib 3.0 mm/s okay /P1",             # malformed
              "P1 vib")                               # left out: the last piece
    text = "\n".join(pieces)
    result = M.audit([text])
    assert result[:5] == (5, 4, 3, 3, 2)
    assert result.by_chance == pytest.approx((2 * 2 + 2 * 2) / 4)
    assert result.shares() == pytest.approx([0.8, 0.75, 0.75, 0.5, 0.5])
    assert M.audit([text, text])[:5] == (10, 8, 6, 6, 4)


def test_chance_is_the_match_rate_of_shuffled_closing_tags():
    """A skewed choice of tags raises the rate at which blind guesses match: chance is then not one in eight."""
    rng = np.random.default_rng(0)
    share = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.03, 0.01, 0.01])
    opened, closed = rng.choice(M.TAGS, p=share, size=(2, 20000))
    text = "\n".join(["", *(f"{a} pres 4.0 bar ok /{b}" for a, b in zip(opened, closed, strict=True)), ""])
    result = M.audit([text])
    assert result.by_chance / 20000 == pytest.approx((share**2).sum(), abs=0.01)
    assert result.closing / 20000 == pytest.approx(result.by_chance / 20000, abs=0.012)


def test_an_empty_audit_has_no_shares_that_fail():
    assert M.audit(["no newline"]).shares() == [0, 0, 0, 0, 0]


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="n_lines is 0"):
        M.draw_log(0, np.random.default_rng(0))
    for held_out in (0.0, 1.0):
        with pytest.raises(ValueError, match="held_out"):
            M.make_corpus(LINES[:3], held_out)


def test_the_drawing_shows_every_character_and_the_two_distances():
    line = M.Line("F2", "pres", 4.0, "bar", "night shift", "ok", "F2")
    texts = [text.get_text() for text in draw_rules(line).axes[0].texts]
    assert "".join(text for text in texts if len(text) == 1) == str(line)[:-1]
    assert {"31 steps", "20 steps"} <= set(texts)
    with pytest.raises(ValueError, match="three rules"):
        draw_rules(line._replace(closing="P1"))
