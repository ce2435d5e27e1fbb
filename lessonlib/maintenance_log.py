"""A maintenance log written by a generator whose every rule is known, what no model can predict of it, and an audit.

A line holds seven fields, joined by single spaces, the remark only where there is one:
    tag quantity value unit [remark] status /closing          such as  F2 pres 4.0 bar night shift ok /F2
Drawn at random: the tag (8), the quantity (3), the value (uniform, to one decimal) and the remark (7, three of them
empty). Determined: the unit by the quantity, the status by the value and a threshold, the closing tag by the tag.
Entropies are in nats, for a line with its newline or for a character of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TAGS = tuple(letter + digit for letter, digits in (("P", "1234"), ("F", "12"), ("C", "12")) for digit in digits)
REMARKS = ("after restart", "during wash", "operator check", "night shift", "", "", "")
OPENING, QUANTITY, VALUE, UNIT, REMARK_AND_STATUS, CLOSING = FIELDS = (
    "opening tag", "quantity", "value", "unit", "remark and status", "closing tag")


class Quantity(NamedTuple):
    """What is measured: its name and unit, the range of its values, and the value from which its status is high."""

    name: str
    unit: str
    low: float
    high: float
    threshold: float

    @property
    def n_values(self) -> int:
        """Values with one decimal from `low` to `high`."""
        return round(10 * (self.high - self.low)) + 1


QUANTITIES = (Quantity("temp", "C", 40.0, 90.0, 75.0), Quantity("vib", "mm/s", 0.5, 9.9, 7.1),
              Quantity("pres", "bar", 1.0, 6.0, 5.0))
BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}
PATTERN = re.compile(rf"([PFC][1-4]) ({'|'.join(BY_NAME)}) (\d+\.\d) ({'|'.join(q.unit for q in QUANTITIES)}) "
                     rf"(?:({'|'.join(filter(None, REMARKS))}) )?(ok|high) /([PFC][1-4])")


class Line(NamedTuple):
    """The seven fields of a line; `value` is a number, `remark` may be empty."""

    tag: str
    quantity: str
    value: float
    unit: str
    remark: str
    status: str
    closing: str

    def pieces(self) -> dict[str, str]:
        """The text of the line by field, each piece with the space or newline that ends it."""
        remark = f"{self.remark} " if self.remark else ""
        texts = (self.tag, self.quantity, f"{self.value:.1f}", self.unit, remark + self.status)
        return dict(zip(FIELDS, [f"{text} " for text in texts] + [f"/{self.closing}\n"], strict=True))

    def __str__(self) -> str:
        return "".join(self.pieces().values())


def draw_line(rng: np.random.Generator) -> Line:
    """One line by four draws: tag, quantity, value, remark."""
    tag = TAGS[rng.integers(len(TAGS))]
    name, unit, low, high, threshold = QUANTITIES[rng.integers(len(QUANTITIES))]
    value = round(float(rng.uniform(low, high)), 1)
    remark = REMARKS[rng.integers(len(REMARKS))]
    return Line(tag, name, value, unit, remark, "high" if value >= threshold else "ok", tag)


def draw_log(n_lines: int, rng: np.random.Generator) -> list[Line]:
    """Lines drawn one after the other."""
    if n_lines < 1:
        raise ValueError(f"n_lines is {n_lines}; it must be at least 1")
    return [draw_line(rng) for _ in range(n_lines)]


@dataclass(frozen=True)
class Corpus:
    """A text, its alphabet (sorted), and the ids of its training and validation characters."""

    text: str
    alphabet: str
    training: NDArray[np.int64]
    validation: NDArray[np.int64]

    def encode(self, text: str) -> NDArray[np.int64]:
        """Ids of the characters of a text; ValueError for a character that the corpus does not have."""
        unknown = sorted(set(text) - set(self.alphabet))
        if unknown:
            raise ValueError(f"text holds {unknown}; its characters must be among {self.alphabet!r}")
        return np.array([self.alphabet.index(character) for character in text], dtype=np.int64)

    def decode(self, ids: Sequence[int] | NDArray) -> str:
        """The text of a sequence of ids."""
        return "".join(self.alphabet[i] for i in ids)


def make_corpus(lines: Sequence[Line], held_out: float = 0.1) -> Corpus:
    """The text of the lines; its last part, a share `held_out` rounded down, is for validation."""
    text = "".join(map(str, lines))
    n = int(len(text) * held_out)
    if not 0 < n < len(text):
        raise ValueError(f"held_out is {held_out} of {len(text)} characters; it must leave some on both sides")
    whole = Corpus(text, "".join(sorted(set(text))), np.array([]), np.array([]))
    ids = whole.encode(text)
    return Corpus(text, whole.alphabet, ids[:-n], ids[-n:])


def entropy_by_field(exact: bool = True) -> dict[str, float]:
    """Entropy of each field given the fields before it, nats a line; 0 for what is determined.

    Parameters
    ----------
    exact : bool
        Rounding gives the two ends of a range half the probability of the values between. False leaves that out and
        takes all `n_values` as equally likely.
    """
    sizes = np.array([quantity.n_values for quantity in QUANTITIES])
    values = np.log(sizes - 1) + np.log(2) / (sizes - 1) if exact else np.log(sizes)
    shares = np.array(list(Counter(REMARKS).values())) / len(REMARKS)
    return {OPENING: float(np.log(len(TAGS))), QUANTITY: float(np.log(len(QUANTITIES))), VALUE: float(values.mean()), UNIT: 0.0,
            REMARK_AND_STATUS: float(-(shares * np.log(shares)).sum()), CLOSING: 0.0}


def line_surprise(line: Line) -> float:
    """-ln of the probability with which the generator draws this line, in nats.

    Raises
    ------
    ValueError
        If the generator cannot write the line.
    """
    quantity = BY_NAME.get(line.quantity)
    if quantity is None or broken_rules(line) or line.tag not in TAGS or line.remark not in REMARKS or \
            not quantity.low <= line.value <= quantity.high:
        raise ValueError(f"line is {str(line)!r}; the generator never writes it")
    at_end = line.value in (quantity.low, quantity.high)
    value = (0.5 if at_end else 1.0) / (quantity.n_values - 1)
    remark = REMARKS.count(line.remark) / len(REMARKS)
    return -float(np.log(value * remark / len(TAGS) / len(QUANTITIES)))


def read_line(text: str) -> Line | None:
    """The fields of a well-formed line without its newline, or None."""
    match = PATTERN.fullmatch(text)
    if match is None:
        return None
    tag, quantity, value, unit, remark, status, closing = match.groups(default="")
    return Line(tag, quantity, float(value), unit, remark, status, closing)


def broken_rules(line: Line) -> set[str]:
    """Which of the three rules a line breaks: "unit", "status", "closing tag"."""
    quantity = BY_NAME[line.quantity]
    kept = {"unit": line.unit == quantity.unit, "closing tag": line.closing == line.tag,
            "status": line.status == ("high" if line.value >= quantity.threshold else "ok")}
    return {rule for rule, holds in kept.items() if not holds}


class Audit(NamedTuple):
    """Counts over complete lines: all, well-formed, and of these how many keep each rule.

    `by_chance` is how many closing tags would match if they were drawn with the frequencies that opening and closing
    tags have in these lines, each without regard to the other.
    """

    lines: int
    well_formed: int
    unit: int
    status: int
    closing: int
    by_chance: float

    def shares(self) -> list[float]:
        """Well-formed of all lines; unit, status, closing tag and chance of the well-formed ones."""
        n = max(self.well_formed, 1)
        return [self.well_formed / max(self.lines, 1), *(count / n for count in self[2:])]


def audit(texts: Sequence[str]) -> Audit:
    """Check sampled texts line by line; the first and the last piece of each may be cut and are left out."""
    pieces = [piece for text in texts for piece in text.split("\n")[1:-1]]
    lines = [line for line in map(read_line, pieces) if line is not None]
    broken = Counter(rule for line in lines for rule in broken_rules(line))
    n = len(lines)
    opened, closed = Counter(line.tag for line in lines), Counter(line.closing for line in lines)
    chance = sum(opened[tag] * closed[tag] for tag in opened) / max(n, 1)
    return Audit(len(pieces), n, n - broken["unit"], n - broken["status"], n - broken["closing tag"], chance)


def distances(line: Line) -> tuple[int, int]:
    """Steps from the end of the opening tag to the letter of the closing one, and from value to status."""
    text = str(line)
    letter = text.rindex("/") + 1
    status = text.rindex(f" {line.status} /") + 1
    return letter - (len(line.tag) - 1), status - text.index(f"{line.value:.1f}")


def fields_of_text(lines: Sequence[Line]) -> NDArray[np.int64]:
    """The field, as an index into `FIELDS`, of every character of the text of the lines."""
    return np.concatenate([np.full(len(piece), FIELDS.index(field))
                           for line in lines for field, piece in line.pieces().items()])
