"""A drawing for the front matter: the way of a number from a page to the site.

Lengths are in the units of the drawing, 10 wide and 6.4 high; positions are centres.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from lessonlib.figures import COLOURS, INK, new_figure

BOX_HEIGHT = 1.15


def box(ax: Axes, x: float, y: float, text: str, *, width: float = 2.6, colour: str = INK) -> None:
    """A rounded box with its text, centred at (x, y).

    Raises
    ------
    ValueError
        If the width is not positive.
    """
    if width <= 0:
        raise ValueError(f"width is {width}; it must be positive")
    ax.add_patch(FancyBboxPatch((x - width / 2, y - BOX_HEIGHT / 2), width, BOX_HEIGHT, facecolor="none",
                                edgecolor=colour, linewidth=1.4, boxstyle="round,pad=0,rounding_size=0.15"))
    ax.text(x, y, text, ha="center", va="center", color=colour, linespacing=1.15)


def arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], *, colour: str = INK) -> None:
    """A straight arrow from one point to another."""
    ax.annotate("", xy=end, xytext=start,
                arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0})


def number_path() -> Figure:
    """What happens to a number at a build: printed by a run, compared with its record, then shown or refused."""
    fig, ax = new_figure(height=3.0)
    ax.set(xlim=(0, 10), ylim=(0, 6.4))
    ax.axis("off")
    box(ax, 1.5, 5.7, "page:\nprose, cells")
    box(ax, 5.0, 5.7, "run:\none thread")
    box(ax, 8.5, 5.7, "numbers\nof this run")
    box(ax, 8.5, 3.3, "compare,\nby class")
    box(ax, 5.0, 3.3, "recorded\nnumbers")
    box(ax, 8.5, 0.8, "site", colour=COLOURS["gru"])
    box(ax, 3.9, 0.8, "build stops", width=3.0, colour=COLOURS["rnn"])
    arrow(ax, (2.85, 5.7), (3.65, 5.7))
    arrow(ax, (6.35, 5.7), (7.15, 5.7))
    arrow(ax, (8.5, 5.1), (8.5, 3.95))
    arrow(ax, (6.35, 3.3), (7.15, 3.3))
    arrow(ax, (8.5, 2.7), (8.5, 1.45), colour=COLOURS["gru"])
    arrow(ax, (7.3, 2.65), (5.0, 1.45), colour=COLOURS["rnn"])
    ax.text(8.7, 2.05, "within", color=COLOURS["gru"], va="center")
    ax.text(5.8, 2.2, "outside", color=COLOURS["rnn"], va="center", ha="right")
    ax.text(1.5, 3.3, "written only\nby accept", ha="center", va="center", color=COLOURS["grey"])
    arrow(ax, (2.75, 3.3), (3.65, 3.3), colour=COLOURS["grey"])
    return fig
