"""What was worked out for a page, kept while nothing that it depends on changed.

A build asks once; the live preview, one process that builds again and again, is quick by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

kept: dict[tuple[str, str], tuple[Any, Any]] = {}


def remembered(kind: str, page: str, state: object, make: Callable[[], T]) -> T:
    """What `make` gives for a page, made anew only if `state`, all that it depends on, is another than last time."""
    found = kept.get((kind, page))
    if found is None or found[0] != state:
        found = kept[kind, page] = (state, make())
    return found[1]
