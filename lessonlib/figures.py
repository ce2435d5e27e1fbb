"""Figures that follow the reader's theme: one size, one palette, alt text that is computed.

A figure leaves the page as inline SVG. Its text and axes take the colour of the surrounding text,
its lines the palette's colours, which the site's style sheet sets for the light and the dark theme.
"""

from __future__ import annotations

import hashlib
import html
import io
import re
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from IPython.display import display
from matplotlib.figure import Figure

from lessonlib.measure import DRAWN_MIME

WIDTH = 4.6  # inches; on a phone of 360 px a figure of this width shows its text at full size

# A model keeps its colour on every page. The site's style sheet has a lighter twin of each for
# the dark theme; the hues are those of Okabe and Ito (2008), which colour-blind readers can tell apart.
COLOURS = {
    "rnn": "#b34700",
    "lstm": "#00639c",
    "gru": "#007a5a",
    "attention": "#a3417d",
    "linear": "#7a5c00",
    "grey": "#6b6b6b",
}
INK, PAPER = "#010203", "#fdfefe"  # stand for the text and background of the surrounding page

STYLE = {
    "figure.figsize": (WIDTH, 2.9),
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": INK,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "mathtext.fontset": "dejavusans",
    "axes.prop_cycle": matplotlib.cycler(color=list(COLOURS.values())),
}


def new_figure(rows: int = 1, columns: int = 1, *, height: float = 2.9, **options: Any) -> tuple[Figure, Any]:
    """A figure in the style of the book, and its axes; `options` as for `plt.subplots`.

    Parameters
    ----------
    rows, columns : int
        Panels. On a phone two columns are the most that can be read.
    height : float
        In inches; the width is always `WIDTH`.
    """
    plt.rcParams.update(STYLE)
    return plt.subplots(rows, columns, figsize=(WIDTH, height), **options)


def themed(svg: str) -> str:
    """Replace the palette's fixed colours by CSS variables, with the fixed colour as the fallback."""
    svg = re.sub(INK, "currentColor", svg, flags=re.IGNORECASE)
    svg = re.sub(PAPER, "var(--figure-paper, #ffffff)", svg, flags=re.IGNORECASE)
    for name, colour in COLOURS.items():
        svg = re.sub(colour, f"var(--figure-{name}, {colour})", svg, flags=re.IGNORECASE)
    return svg


def inline_svg(fig: Figure, alt: str) -> str:
    """A figure as an `<svg>` element with its description, the same text at every run.

    Raises
    ------
    ValueError
        If the description is shorter than 20 or longer than 250 characters.
    """
    if not 20 <= len(alt) <= 250:
        raise ValueError(f"alt has {len(alt)} characters; describe the figure in 20 to 250")
    buffer = io.StringIO()
    salt = hashlib.sha256(alt.encode()).hexdigest()[:8]  # ids differ between the figures of a page
    with plt.rc_context({**STYLE, "svg.hashsalt": salt}):
        fig.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = buffer.getvalue()
    svg = themed(svg[svg.index("<svg"):])
    svg = re.sub(r'(?<=id=")|(?<=href="#)|(?<=url\(#)', f"{salt}-", svg)
    width, height = re.search(r'viewBox="0 0 (\S+) (\S+)"', svg).groups()
    head = (f'<svg class="figure" role="img" aria-label="{html.escape(alt)}" viewBox="0 0 {width} {height}" '
            f'style="max-width: 34rem" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">')
    return head + svg[svg.index(">") + 1:]


def labels_with_numbers(fig: Figure) -> list[str]:
    """The texts that stand in a figure, its legends included and its ticks and formulas not, as far as they hold numbers."""
    texts = [*fig.texts, *(text for ax in fig.axes for text in [*ax.texts, *(ax.get_legend().texts if ax.get_legend() else [])])]
    return [text.get_text() for text in texts if re.search(r"\d", re.sub(r"\$[^$]*\$", "", text.get_text()))]


def show(fig: Figure, *, alt: str) -> None:
    """Show a figure in the page and close it.

    Parameters
    ----------
    fig : Figure
        Made by `new_figure`.
    alt : str
        What the figure shows, with the numbers that matter, in 20 to 250 characters. Computed from
        the data where it holds numbers: it is checked like printed text.
    """
    data = {"text/html": inline_svg(fig, alt), "text/plain": f"[figure: {alt}]"}
    if labels := labels_with_numbers(fig):
        display({DRAWN_MIME: labels}, raw=True)
    plt.close(fig)
    display(data, raw=True, metadata={"lessonlib": {"alt": alt}})
