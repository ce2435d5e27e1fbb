"""Measurements that prose may quote, and claims that must hold.

A page records a number under a name; its prose quotes that name, so the sentence moves with the
measurement. Where prose compares, a claim states the comparison as a condition; a claim that does
not hold stops the page. Both leave a record in the executed notebook, which the build reads.
"""

from __future__ import annotations

import re
from typing import Any

from IPython.display import display

MEASUREMENT_MIME = "application/vnd.lessonlib.measurement+json"
CLAIM_MIME = "application/vnd.lessonlib.claim+json"
DRAWN_MIME = "application/vnd.lessonlib.drawn+json"  # lines of text: the numbers in a figure, compared like printed ones
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9.]+)*")


class FalseClaim(AssertionError):
    """A sentence of the book that this run does not bear out."""


def plain(value: Any) -> Any:
    """A value as plain Python: scalars of NumPy and PyTorch become numbers, arrays become lists.

    Raises
    ------
    ValueError
        If the value is not a number, a truth value, a string, or a list or tuple of these.
    """
    if hasattr(value, "tolist"):  # NumPy and PyTorch, arrays and scalars
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"value is a {type(value).__name__}; record a number, a string, or a list of them")


def record(name: str, value: Any) -> Any:
    """Record a measurement under a name that prose and the ledger use, and return it.

    Parameters
    ----------
    name : str
        Lower-case words joined by hyphens, unique in the book, such as `race-gru-accuracy`.
    value : number, string, truth value, or a (nested) list or array of these
        Kept at full precision.

    Raises
    ------
    ValueError
        If the name or the value is not of that form.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"name is {name!r}; use lower-case words joined by hyphens")
    value = plain(value)
    display({MEASUREMENT_MIME: {"name": name, "value": value}}, raw=True)
    return value


def claim(sentence: str, holds: Any) -> None:
    """State what the prose asserts; stop the page where it does not hold.

    Parameters
    ----------
    sentence : str
        The assertion in words, as the reader of a failed build should see it.
    holds : bool
        The condition on measured values that bears it out.

    Raises
    ------
    FalseClaim
        If the condition is false; its message is the sentence.
    ValueError
        If it is no truth value: a list, a number or a generator would pass for true.
    """
    holds = plain(holds)
    if not isinstance(holds, bool):
        raise ValueError(f"holds is {holds!r}; a claim needs a comparison, which is true or false")  # noqa: TRY004
    if not holds:
        raise FalseClaim(f"the page claims, and this run denies: {sentence}")
    display({CLAIM_MIME: {"sentence": sentence}}, raw=True)
