"""Compare what a cell printed, or a page measured, with what was recorded.

Words are equal or they moved; numbers may differ by the tolerance of their cell's class. How much of
its tolerance a difference uses up is its share: 1 is the most that passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from lessonlib.book.printed import Number, Word, tokens

CLASSES = ("exact", "printed", "trained", "magnitude", "timing", "sampled")
DECADES = Decimal("0.3")  # tolerance of `magnitude`, in powers of ten
DIGITS = 4  # of a measurement, those that `printed` compares
NEARLY_ZERO = Decimal("1e-9")  # where a measurement of 0.0 was recorded
FULL = 1 + 1e-9  # a share of 1, given that band and difference went through binary arithmetic
ARITHMETIC = Context(prec=60, traps=[])
LINES_SHOWN = 10  # of a difference in words
NOTHING = "nothing"  # stands for a token that is not there

Token = Word | Number


def cell_class(tags: Iterable[str] | None) -> str:
    """The class that a cell's tags give it; `printed` without one.

    Raises
    ------
    ValueError
        If the tags name more than one class.
    """
    named = [name for name in CLASSES if name in (tags or ())]
    if len(named) > 1:
        raise ValueError(f"tags name the classes {' and '.join(named)}; a cell has one")
    return named[0] if named else "printed"


@dataclass(frozen=True)
class Drift:
    """One place where a run departs from the record.

    `line`, `text` and `column` say where in the text of this run (0, "" and 0 where no line can be
    named), `size` is the difference in units of its tolerance: infinite for words, counts and formats.
    `detail` holds lines that explain more.
    """

    kind: str
    line: int
    text: str
    column: int
    recorded: str
    got: str
    tolerance: str
    size: float
    detail: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.explain()

    def explain(self) -> str:
        """The two values with the tolerance, and the line of this run with the place marked."""
        away = f"   {self.size:.3g} tolerances away" if math.isfinite(self.size) else ""
        lines = [f"recorded   {self.recorded}   got   {self.got}   tolerance {self.tolerance} ({self.kind}){away}"]
        if self.column:
            blank = "".join("\t" if mark == "\t" else " " for mark in self.text[:self.column - 1])
            lines += ["  " + self.text, "  " + blank + "^" * (1 if self.got == NOTHING else len(self.got))]
        return "\n".join([*lines, *("  " + line for line in self.detail)])


# ---------------------------------------------------------------- printed text

def compare(recorded: str, got: str, kind: str, bands: Sequence[float | None] | None = None, *, least: float = FULL) -> list[Drift]:
    """Where the text of a run departs from the recorded text by more than the class of its cell allows.

    Parameters
    ----------
    recorded, got : str
        As `printed_text` gives them.
    kind : str
        One of `CLASSES`.
    bands : sequence of float or None
        For `trained`: the absolute band of each number of the recorded text, in its order; None or 0 stands
        for the tolerance of `printed`, which is also the least. Other classes pass it over.
    least : float
        Share of its tolerance beyond which a difference counts: 1, or 0 to see all that moved.

    Returns
    -------
    list of Drift
        Empty when the text passes.

    Raises
    ------
    ValueError
        If the class is unknown or there is not one band, zero or more, for each recorded number.
    """
    if _known(kind) == "sampled":
        return _compare_lines(recorded, got)
    pairs, moved = _pairs(recorded, got, kind, bands)
    lines = got.split("\n")
    drifts = list(moved)
    for old, new, band in pairs:
        share, rule = _share(old, new, kind, band)
        if share > least:
            drifts.append(Drift(kind, new.line, lines[new.line - 1], new.column, old.text, new.text, rule, share))
    return drifts


def count_numbers(text: str) -> int:
    """How many numbers a text holds."""
    return sum(isinstance(token, Number) for token in tokens(text))


def _known(kind: str) -> str:
    if kind not in CLASSES:
        raise ValueError(f"kind is {kind!r}; the classes are {', '.join(CLASSES)}")
    return kind


def _compare_lines(recorded: str, got: str) -> list[Drift]:
    """Sampled text: as many lines that hold something as were recorded."""
    old, new = (sum(1 for line in text.split("\n") if line.strip()) for text in (recorded, got))
    if old == new:
        return []
    return [Drift("sampled", 0, "", 0, f"{old} lines", f"{new} lines", "the number of lines is equal", math.inf)]


def _signature(token: Token) -> str | None:
    """What must be equal for two tokens to be compared: the text of a word, None for any number."""
    return token.text if isinstance(token, Word) else None


def _pairs(recorded: str, got: str, kind: str, bands: Sequence[float | None] | None,
           ) -> tuple[list[tuple[Token, Token, float | None]], list[Drift]]:
    """Recorded and got tokens side by side, with the band of each, and a drift if words moved.

    Where words moved, tokens of the lines whose words did not are still compared.
    """
    old, new = tokens(recorded), tokens(got)
    band = _band_of_each(old, kind, bands)
    if [_signature(token) for token in old] == [_signature(token) for token in new]:
        return list(zip(old, new, band, strict=True)), []
    place = {id(token): index for index, token in enumerate(old)}
    old_lines, new_lines = ([list(line) for _, line in groupby(found, key=lambda token: token.line)]
                            for found in (old, new))
    matcher = SequenceMatcher(None, *([tuple(_signature(token) for token in line) for line in found]
                                      for found in (old_lines, new_lines)), autojunk=False)
    pairs: list[tuple[Token, Token, float | None]] = []
    difference: list[str] = []
    for change, a, b, c, d in matcher.get_opcodes():
        if change == "equal":
            pairs += [(x, y, band[place[id(x)]]) for one, two in zip(old_lines[a:b], new_lines[c:d], strict=True)
                      for x, y in zip(one, two, strict=True)]
        else:
            difference += ["- " + recorded.split("\n")[line[0].line - 1] for line in old_lines[a:b]]
            difference += ["+ " + got.split("\n")[line[0].line - 1] for line in new_lines[c:d]]
    return pairs, [_moved(old, new, got, kind, difference)]


def _band_of_each(old: list[Token], kind: str, bands: Sequence[float | None] | None) -> list[float | None]:
    """For each token its band, None for words."""
    if kind != "trained" or bands is None:
        return [None] * len(old)
    numbers = sum(isinstance(token, Number) for token in old)
    if len(bands) != numbers:
        raise ValueError(f"bands has {len(bands)} entries; the recorded text has {numbers} numbers")
    each = iter(_checked_band(band) for band in bands)
    return [next(each) if isinstance(token, Number) else None for token in old]


def _checked_band(band: float | None) -> float:
    """A band as a number; the band of a number that is nan, itself nan, is none."""
    if band is None or math.isnan(band):
        return 0.0
    if not 0 <= band < math.inf:
        raise ValueError(f"a band is {band!r}; it must be a finite number, zero or more, or None")
    return band


def _moved(old: list[Token], new: list[Token], got: str, kind: str, difference: list[str]) -> Drift:
    """The drift for words that moved, at the first place that differs."""
    both = min(len(old), len(new))
    first = next((i for i in range(both) if _signature(old[i]) != _signature(new[i])), both)
    was = old[first].text if first < len(old) else NOTHING
    if first < len(new):
        line, column, now = new[first].line, new[first].column, new[first].text
    else:
        line = got.count("\n") + 1
        column, now = len(got.split("\n")[-1]) + 1, NOTHING
    if len(difference) > LINES_SHOWN:
        difference = [*difference[:LINES_SHOWN], f"and {len(difference) - LINES_SHOWN} lines more"]
    return Drift(kind, line, got.split("\n")[line - 1], column, was, now, "none, words are equal", math.inf,
                 tuple(difference))


# ---------------------------------------------------------------- one number

def _share(old: Token, new: Token, kind: str, band: float | None) -> tuple[float, str]:
    """The share of its tolerance that a token uses up, and the tolerance in words."""
    if isinstance(old, Word) or isinstance(new, Word):
        return 0.0, "none, words are equal"
    if kind == "exact":
        return (0.0 if old.text == new.text else math.inf), "none"
    free = {"timing": _timing, "magnitude": _magnitude}.get(kind)
    if free and not (old.is_integer or kind == "timing" and old.is_lone_digit and old.exponent is not None):
        return free(old.exact, new.exact)
    if not (old.exact.is_finite() and new.exact.is_finite()):
        return _not_finite(old.exact, new.exact)
    if (old.decimals, old.exponent is None) != (new.decimals, new.exponent is None):
        return math.inf, "printed in the same format"
    # A lone digit (0.5, 1e-05) is a setting as a rule, and one unit of it may double it.
    whole = old.is_integer or (old.is_lone_digit and not band and (kind != "trained" or old.exponent is not None))
    return _within(old.exact, new.exact, max(Decimal(0) if whole else old.last_place, Decimal(repr(band or 0))))


def _within(old: Decimal, new: Decimal, tolerance: Decimal) -> tuple[float, str]:
    with localcontext(ARITHMETIC):
        difference = abs(new - old)
        if tolerance == 0:
            return (0.0 if difference == 0 else math.inf), "none"
        return float(difference / tolerance), f"±{float(tolerance):.3g}"


def _not_finite(old: Decimal, new: Decimal) -> tuple[float, str]:
    same = old.is_nan() and new.is_nan() or old == new
    return (0.0 if same else math.inf), "nan and inf where they were recorded"


def _timing(old: Decimal, new: Decimal) -> tuple[float, str]:
    return (0.0 if new.is_finite() and new > 0 else math.inf), "finite and positive"


def _magnitude(old: Decimal, new: Decimal) -> tuple[float, str]:
    """Decades between two numbers of one sign, as a share of those allowed."""
    if not (old.is_finite() and new.is_finite()):
        return _not_finite(old, new)
    if old.is_zero() or new.is_zero():
        return (0.0 if old == new else math.inf), "zero where it was recorded"
    rule = f"{DECADES} of a decade, same sign"
    with localcontext(ARITHMETIC):
        if old.is_signed() != new.is_signed():
            return math.inf, rule
        return float(abs(abs(new).log10() - abs(old).log10()) / DECADES), rule


# ---------------------------------------------------------------- measurements

def compare_value(recorded: Any, got: Any, kind: str, band: Any = None, *, name: str = "", least: float = FULL) -> list[Drift]:
    """Where a measurement departs from the recorded one by more than its class allows.

    Numbers are at full precision. Whole numbers, truth values and strings are equal, save that a band in `trained`
    holds for whole numbers too, `timing` frees all others (also in strings), and `sampled` frees strings.
    Other numbers: `exact` equal; `printed`, and `sampled`, within one unit of the fourth significant digit; `trained`
    within the band, at least that unit; `magnitude` and `timing` as in text. Lists agree in length and item by item.

    Parameters
    ----------
    recorded, got : number, string, truth value, or (nested) list of these
    kind : str
        One of `CLASSES`.
    band : float or (nested) list of float
        For `trained`: one for all numbers, or one each. Other classes pass it over.
    name : str
        Of the measurement, for the explanation.
    least : float
        As for `compare`.

    Returns
    -------
    list of Drift
        Each names its place as its `text`, such as `race-curve[2]`.

    Raises
    ------
    ValueError
        If the class is unknown, or the bands have not the shape of the recorded list.
    """
    _known(kind)
    return _compare_item(recorded, got, kind, band if kind == "trained" else None, name, least)


def _compare_item(old: Any, new: Any, kind: str, band: Any, place: str, least: float) -> list[Drift]:
    def drift(share: float, rule: str, was: str = repr(old), now: str = repr(new)) -> list[Drift]:
        detail = (f"measurement {place}",) if place else ()
        return [Drift(kind, 0, place, 0, was, now, rule, share, detail)] if share > least else []

    if isinstance(band, (list, tuple)) and not (isinstance(old, (list, tuple)) and len(old) == len(band)):
        raise ValueError(f"band is a list of {len(band)}; the recorded value {place} has another shape")
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        if len(old) != len(new):
            return drift(math.inf, "lists of equal length", f"{len(old)} items", f"{len(new)} items")
        bands = band if isinstance(band, (list, tuple)) else [band] * len(old)
        return [found for i, (x, y, b) in enumerate(zip(old, new, bands, strict=True))
                for found in _compare_item(x, y, kind, b, f"{place}[{i}]", least)]
    if type(old) is not type(new):
        return drift(math.inf, f"a {type(old).__name__}")
    if isinstance(old, str):
        if kind == "timing":
            return [replace(found, detail=(*found.detail, f"measurement {place}")) for found in compare(old, new, kind, least=least)]
        return [] if kind == "sampled" else drift(0.0 if old == new else math.inf, "none")
    if isinstance(old, bool):
        return drift(0.0 if old is new else math.inf, "none")
    return drift(*_number_share(old, new, kind, _checked_band(band)))


def _number_share(old: float, new: float, kind: str, band: float) -> tuple[float, str]:
    was, now = Decimal(repr(old)), Decimal(repr(new))
    if isinstance(old, int):
        return _within(was, now, Decimal(repr(band or 0)))
    if kind == "timing":
        return _timing(was, now)
    if kind == "magnitude":
        return _magnitude(was, now)
    if not (was.is_finite() and now.is_finite()):
        return _not_finite(was, now)
    if kind == "exact":
        return _within(was, now, Decimal(0))
    least = Decimal((0, (1,), was.adjusted() - DIGITS + 1)) if was else NEARLY_ZERO
    return _within(was, now, max(least, Decimal(repr(band or 0))))
