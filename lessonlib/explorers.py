"""Interactive figures: values computed in a cell, drawn by a script of the site, readable without it.

An explorer leaves the page as one `<div class="explorer" data-explorer="KIND">` that holds, in this order, a
static figure, a sentence about it, and the values as JSON. The site loads `assets/KIND.js` on pages that hold
such an element; the script replaces the static figure by an interactive one of the same size and the sentence
by labelled controls. Without JavaScript the static figure and the sentence stay.
"""

from __future__ import annotations

import html
import json
import math
import re
from typing import Any

import matplotlib.pyplot as plt
from IPython.display import display
from matplotlib.figure import Figure

from lessonlib.figures import inline_svg, labels_with_numbers
from lessonlib.measure import DRAWN_MIME, plain

KIND = re.compile(r"[a-z]+(-[a-z]+)*")
LARGEST = 60_000  # bytes of JSON; a page is read on phones too


def rounded(value: Any, digits: int = 3) -> Any:
    """A value as plain Python with every float rounded to `digits` significant digits, lists and dicts included.

    Raises
    ------
    ValueError
        If a number is NaN or infinite, which JSON cannot hold.
    """
    if isinstance(value, dict):
        return {str(key): rounded(item, digits) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item, digits) for item in value]
    value = plain(value)
    if isinstance(value, list):
        return rounded(value, digits)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"value is {value}; every number of an explorer must be finite")
        value = float(f"{value:.{digits}g}")
        return int(value) if value == int(value) and abs(value) < 1e15 else value
    return value


def packed(data: dict[str, Any], digits: int = 3) -> str:
    """The values of an explorer as JSON that may stand inside a `<script>` element.

    Raises
    ------
    ValueError
        If the text is longer than 60,000 bytes.
    """
    text = json.dumps(rounded(data, digits), separators=(",", ":"), ensure_ascii=False)
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    if len(text.encode()) > LARGEST:
        raise ValueError(f"data takes {len(text.encode()):,} bytes; an explorer may hold {LARGEST:,}")
    return text


def leaves(value: Any) -> list[float]:
    """The numbers in nested lists and dicts, in their order."""
    if isinstance(value, dict):
        return leaves(list(value.values()))
    if isinstance(value, list):
        return [number for item in value for number in leaves(item)]
    return [float(value)] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def summary(data: dict[str, Any]) -> str:
    """The values of an explorer in one line, by which the build notices that some of them moved."""
    values = leaves(data)
    size = sum(map(abs, values)) / max(len(values), 1)
    square = sum(value * value for value in values) / max(len(values), 1)
    return (f"[explorer: {len(values)} numbers, {sum(value < 0 for value in values)} negative, mean size {size:.3e}, "
            f"root mean square {math.sqrt(square):.3e}]")


def explorer_html(kind: str, data: dict[str, Any], fallback: Figure, alt: str, title: str, *,
                  controls: str = "16rem", digits: int = 3) -> str:
    """The element that `explorer` displays; see there."""
    if not KIND.fullmatch(kind):
        raise ValueError(f"kind is {kind!r}; use lower-case words joined by hyphens, the name of a script")
    if not title.strip():
        raise ValueError("title is empty; it names the explorer for screen readers")
    return (f'<div class="explorer" data-explorer="{kind}" role="group" aria-label="{html.escape(title)}">'
            f'<div class="explorer-figure">{inline_svg(fallback, alt)}</div>'
            f'<div class="explorer-controls" style="display:flow-root;min-height:{html.escape(controls)}">'
            f"<p>Fixed view: {html.escape(alt)} With JavaScript, the reader chooses what is drawn.</p></div>"
            f'<script type="application/json">{packed(data, digits)}</script></div>')


def explorer(kind: str, data: dict[str, Any], *, fallback: Figure, alt: str, title: str,
             controls: str = "16rem", digits: int = 3) -> None:
    """Show an interactive figure in the page.

    Parameters
    ----------
    kind : str
        Name of the script, such as `gradient-flow` for `assets/gradient-flow.js`.
    data : dict
        What the script draws: numbers, strings, lists and dicts; floats are rounded to `digits` digits.
    fallback : Figure
        Made by `new_figure`; what a reader without JavaScript sees. The script draws in a box of its size.
    alt : str
        What the static figure shows, in 20 to 250 characters, ending with a full stop.
    title : str
        Name of the group of controls for screen readers.
    controls : str
        CSS length kept free for the controls, so that nothing moves when the script adds them.

    Raises
    ------
    ValueError
        For a kind that is no name, an empty title, an alt too short or too long, values that are not finite,
        and data of more than 60,000 bytes.
    """
    element = explorer_html(kind, data, fallback, alt, title, controls=controls, digits=digits)
    display({DRAWN_MIME: [*labels_with_numbers(fallback), summary(rounded(data, digits))]}, raw=True)
    plt.close(fallback)
    display({"text/html": element, "text/plain": f"[explorer: {alt}]"}, raw=True,
            metadata={"lessonlib": {"alt": alt}})
