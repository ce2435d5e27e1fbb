"""Values of the reproduction ledger: how figures are aligned, compared and written.

A figure is a number, a truth value, a string, or a nested list of these; a mapping counts as the
list of its values, and null marks an element that is not compared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from lessonlib.book.printed import Number, tokens
from lessonlib.book.quote import ROLE

SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
MARKDOWN = re.compile(rf"{ROLE.pattern}|[\\`*_{{}}\[\]<>|$#~^]")  # a quotation, or a mark that Markdown reads
SHOWN = 12  # a longer list is shortened
DIGITS = 7  # significant digits at most
MOST_DECIMALS = 6


def as_list(value: Any) -> list[Any] | None:
    """The elements of a list or the values of a mapping; None for a single value."""
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else None


def leaves(value: Any) -> list[Any]:
    """All single values in order, null included."""
    items = as_list(value)
    return [value] if items is None else [leaf for item in items for leaf in leaves(item)]


def shape(value: Any) -> str:
    """The shape in words: `one value`, `3 x 2 values`, or `3 lists of unequal shape`."""
    items = as_list(value)
    if items is None:
        return "one value"
    inner = {shape(item) for item in items if item is not None} or {"one value"}
    if len(inner) > 1:
        return f"{len(items)} lists of unequal shape"
    only = inner.pop()
    return f"{len(items)} values" if only == "one value" else f"{len(items)} x {only}"


def align(measured: Any, *figures: Any) -> list[tuple[Any, ...]]:
    """Pair each measured value with the same element of every figure; null stands for all below it.

    Raises
    ------
    ValueError
        If a figure has another shape; the message names both shapes.
    """
    for figure in figures:
        if not fits(measured, figure):
            raise ValueError(f"measured is {shape(measured)}, but the figure is {shape(figure)}")
    items = as_list(measured)
    if items is None:
        return [(measured, *figures)]
    columns = [as_list(figure) or [None] * len(items) for figure in figures]
    return [row for item in zip(items, *columns, strict=True) for row in align(*item)]


def fits(measured: Any, figure: Any) -> bool:
    """Whether the figure has the shape of the measured value, null standing for any shape."""
    items, part = as_list(measured), as_list(figure)
    if figure is None or (items is None and part is None):
        return True
    if items is None or part is None or len(items) != len(part):
        return False
    return all(fits(item, below) for item, below in zip(items, part, strict=True))


def agrees(measured: Any, figure: Any, kind: str, size: float) -> bool:
    """Whether one measured value lies within the tolerance of one figure, or rounds to it.

    A figure is as it was printed: 0.568 rounds to 0.57. Only a figure of two significant digits or
    more counts as rounded, and none does under `equal`.

    Parameters
    ----------
    measured, figure : number, bool or str
        Strings and truth values must be equal, whatever the tolerance.
    kind : {"abs", "rel", "decades", "equal"}
        Absolute, relative to the figure, or in powers of ten (same sign; zero agrees with zero only).
    size : float
        The tolerance; not used by `equal`.
    """
    if any(isinstance(value, (str, bool)) for value in (measured, figure)):
        return measured == figure
    if not (math.isfinite(measured) and math.isfinite(figure)):
        return measured == figure
    if kind == "equal":
        return measured == figure or math.isclose(measured, figure, rel_tol=1e-12)
    if abs(measured - figure) <= rounding(figure) * (1 + 1e-9):
        return True
    if kind == "decades":
        if 0 in (measured, figure) or (measured < 0) != (figure < 0):
            return measured == figure
        return abs(math.log10(abs(measured)) - math.log10(abs(figure))) <= size * (1 + 1e-9)
    return abs(measured - figure) <= (size if kind == "abs" else size * abs(figure)) * (1 + 1e-9)


def rounding(figure: float) -> float:
    """Half a unit in the last printed digit of a fraction; zero for a whole number or a single digit."""
    _, digits, exponent = Decimal(repr(figure)).as_tuple()
    whole = isinstance(figure, int) or figure == int(figure)
    return 0.0 if whole or len(digits) < 2 else 0.5 * 10.0 ** int(exponent)


def scaled(value: Any, factor: float) -> Any:
    """The value with every number multiplied; strings and truth values stay."""
    items = as_list(value)
    if items is not None:
        return [scaled(item, factor) for item in items]
    return value if factor == 1 or value is None or isinstance(value, (str, bool)) else value * factor


def escaped(text: str) -> str:
    """Text that Markdown leaves alone, in one line; a measurement that it quotes stays a quotation."""
    return MARKDOWN.sub(lambda match: match[0] if match["target"] else "\\" + match[0], " ".join(text.split()))


def states(figure: Any, typed: str) -> bool:
    """Whether a figure, or words that hold figures, state a typed number, to the digits that are typed.

    A percentage also stands for a share: 37.5 % for 0.3751.
    """
    shown = next(token for token in tokens(typed) if isinstance(token, Number))
    stated = [token.value for leaf in leaves(figure) for token in tokens(str(leaf)) if isinstance(token, Number)]
    return any(abs(factor * value - shown.value) <= 0.5 * shown.unit_in_last_place * (1 + 1e-9)
               for value in stated for factor in ((1, 100) if "%" in typed else (1,)))


def number(value: float, digits: int = DIGITS, decimals: int | None = None) -> str:
    """A number for a table: fixed where it is short, a power of ten where it is not."""
    if value < 0:
        return "−" + number(-value, digits, decimals)
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if not math.isfinite(value):
        return str(value)
    if value == 0 or 1e-4 <= value < 1e6:
        fixed = decimals is not None and decimals < MOST_DECIMALS
        if decimals is None:
            decimals = max(0, digits - 1 - (math.floor(math.log10(value)) if value else 0))
        group = "," if value >= 10_000 else ""
        shown = f"{round(value, decimals):{group}.{decimals}f}"
        return shown.rstrip("0").rstrip(".") if decimals and not fixed else shown
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa} × 10{str(int(exponent)).translate(SUPERSCRIPT)}"


def seen(size: float) -> int:
    """Decimals that show a difference of `size`: 0.01 in three, 0.05 in two."""
    exponent = math.floor(math.log10(size))
    return min(MOST_DECIMALS, max(0, -exponent + (size < 2 * 10.0**exponent)))


def single(value: Any, kind: str | None = None, size: float = 0.0) -> str:
    """One value as a table cell shows it, with enough digits to see the tolerance."""
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return escaped(value if len(value) <= 60 else value[:57].rstrip() + "…")
    if kind == "abs" and size > 0:
        if abs(value) <= size <= 1e-6:
            return f"below {number(float(size), 2)}"
        return number(value, decimals=seen(size)) if value else "0"
    if kind == "rel" and size > 0:
        return number(value, min(DIGITS, max(3, 2 - math.floor(math.log10(size)))))
    return number(value, 3 if kind == "decades" else DIGITS)


def in_list(value: Any, kind: str | None, size: float) -> str:
    """One value of a list, without the commas that group its thousands."""
    shown = single(value, kind, size)
    return shown if isinstance(value, str) else shown.replace(",", "")


def written(value: Any, kind: str | None = None, size: float = 0.0) -> str:
    """A figure as a table cell: rows apart by semicolons, long lists shortened, counted."""
    items, flat = as_list(value), leaves(value)
    if items is None:
        return single(value, kind, size)
    if len(flat) > SHOWN:
        few = ", ".join(in_list(leaf, kind, size) for leaf in flat[:4])
        return f"{few}, …, {in_list(flat[-1], kind, size)} ({len(flat)} values)"
    cells = [in_list(item, kind, size) if as_list(item) is None else written(item, kind, size) for item in items]
    if isinstance(value, Mapping):
        cells = [f"{escaped(str(key))}: {cell}" for key, cell in zip(value, cells, strict=True)]
    return ("; " if any(as_list(item) is not None for item in items) else ", ").join(cells)
