"""Measurements as prose quotes them: a name, an index where the value is a list, and a format.

A target is what stands between the backticks of the `measured` role, such as `race-loss:.3f` or
`race-curve[2]:.1e`. The text that it gives is typeset: a minus is a minus sign, a power of ten has
its exponent raised.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from typing import Any

TARGET = re.compile(r"(?P<name>[a-z0-9]+(?:-[a-z0-9.]+)*)(?P<indices>(?:\[-?\d+\])*)(?::(?P<spec>.*))?")
ROLE = re.compile(r"\{measured\}`(?P<target>[^`]*)`")
MINUS = "\N{MINUS SIGN}"
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "+")


def parse(target: str) -> tuple[str, list[int], str]:
    """The name, the indices and the format of a target.

    Raises
    ------
    ValueError
        If the target is not of the form `name`, `name:format` or `name[2]:format`.
    """
    match = TARGET.fullmatch(target.strip())
    if match is None:
        raise ValueError(f"{target!r} is no measurement; write name:format or name[2]:format, such as race-loss:.3f")
    indices = [int(index) for index in re.findall(r"-?\d+", match["indices"])]
    return match["name"], indices, match["spec"] or ""


def lookup(measurements: Mapping[str, Any], target: str) -> Any:
    """The value that a target names; its format, if it has one, plays no part.

    Raises
    ------
    ValueError
        If no such measurement is recorded, or it has no element of that index.
    """
    name, indices, _ = parse(target)
    if name not in measurements:
        near = difflib.get_close_matches(name, measurements, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"no page records a measurement named {name}{hint}")
    value = measurements[name]
    for index in indices:
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"{target!r} has an index too many: {value!r} is not a list")  # noqa: TRY004
        if not -len(value) <= index < len(value):
            raise ValueError(f"{target!r} has no element {index}: the list there has {len(value)}")
        value = value[index]
    return value


def format_value(value: Any, spec: str = "") -> str:
    """A value as text, by a format of Python's such as `.3f`, `.1%`, `,d`, `.1e` or `+.2f`.

    Parameters
    ----------
    value : number, truth value or string
        NaN and the infinities are written plainly, whatever the format.
    spec : str
        May be empty except for a float, whose digits must be chosen.

    Raises
    ------
    ValueError
        If the value is a list, a float without a format, or the format does not suit the value.
    """
    if isinstance(value, (list, tuple)):
        raise ValueError(f"the value is a list of {len(value)}; choose an element with [0], [1], ...")  # noqa: TRY004
    if isinstance(value, float) and not math.isfinite(value):
        return str(value).replace("-", MINUS)
    if isinstance(value, float) and not spec:
        raise ValueError(f"the value is {value!r}; say with how many digits to write it, such as :.3f")
    if isinstance(value, bool):
        if spec:
            raise ValueError(f"the value is {value}, which takes no format; {spec!r} was given")
        return str(value)
    try:
        text = format(value, spec)
    except (ValueError, TypeError) as error:
        raise ValueError(f"the format {spec!r} does not suit the value {value!r} ({error})") from error
    return text if isinstance(value, str) else typeset(text)


def typeset(number: str) -> str:
    """A number as Python writes it, with minus signs, powers of ten, and no sign on a zero."""
    mantissa, mark, exponent = number.replace("E", "e").partition("e")
    zero = not re.search("[1-9]", mantissa)
    if zero and mark:
        return "0"
    if zero:
        mantissa = mantissa.replace("-", "")
    mantissa = mantissa.replace("-", MINUS)
    return f"{mantissa} × 10{str(int(exponent)).translate(RAISED)}" if mark else mantissa


def quoted(measurements: Mapping[str, Any], target: str) -> str:
    """The text that a target gives in prose.

    Raises
    ------
    ValueError
        As `parse`, `lookup` and `format_value` do; the message names the target.
    """
    _, _, spec = parse(target)
    value = lookup(measurements, target)
    try:
        return format_value(value, spec)
    except ValueError as error:
        raise ValueError(f"{target!r}: {error}") from error
