"""Drawing of a copy row and of the two ways from a token to the answer that repeats it."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle

from lessonlib.figures import COLOURS, INK
from lessonlib.tasks import SEPARATOR


def _token_boxes(axes: Axes, tokens: list[int], first_scored: int, y: float) -> None:
    """A row of boxes with token ids; the boxes of scored inputs are shaded."""
    for column, token in enumerate(tokens):
        scored = column >= first_scored
        axes.add_patch(Rectangle((column - 0.45, y), 0.9, 0.9, facecolor=COLOURS["grey"] if scored else "none",
                                 alpha=0.25 if scored else 1.0, edgecolor="none"))
        axes.add_patch(Rectangle((column - 0.45, y), 0.9, 0.9, facecolor="none", edgecolor=INK, linewidth=0.8))
        axes.text(column, y + 0.42, str(token), ha="center", va="center", fontsize=9)


def draw_copy_row(axes: Axes, body: list[int]) -> None:
    """Draw a copy row of a short body, and the way from its first token to the first answer.

    Above the row the recurrent way, one arrow a step through the states; below it the way of
    attention, one arrow from the token to the position that answers.

    Parameters
    ----------
    axes : Axes
        Emptied and without frame afterwards.
    body : list of int
        Two to eight token ids.
    """
    if not 2 <= len(body) <= 8:
        raise ValueError(f"body has {len(body)} tokens; two to eight can be read")
    length = len(body)
    tokens = [*body, SEPARATOR, *body[:-1]]
    _token_boxes(axes, tokens, length, 0.0)
    arrow = {"arrowstyle": "-|>", "mutation_scale": 9, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
    for column in range(len(tokens)):
        on_way = column <= length
        colour = COLOURS["gru"] if on_way else COLOURS["grey"]
        axes.add_patch(Rectangle((column - 0.3, 1.75), 0.6, 0.6, facecolor="none", edgecolor=colour, linewidth=1.4))
        axes.plot([column, column], [0.95, 1.7], color=COLOURS["grey"], linewidth=0.8)
        if column < len(tokens) - 1:
            axes.add_patch(FancyArrowPatch((column + 0.3, 2.05), (column + 0.7, 2.05), **arrow,
                                           color=COLOURS["gru"] if column < length else COLOURS["grey"]))
    axes.add_patch(FancyArrowPatch((0, -0.08), (length, -0.08), connectionstyle="arc3,rad=0.3", **arrow,
                                   color=COLOURS["attention"]))
    axes.text(-0.3, 2.62, f"GRU: {length} steps through one state", color=COLOURS["gru"], va="bottom")
    axes.text(length / 2, -1.1, "attention: one look back", color=COLOURS["attention"], ha="center", va="top")
    axes.text(length + 0.55, -0.35, f"answer here: {body[0]}", va="top", fontsize=9)
    axes.set(xlim=(-0.7, len(tokens) - 0.3), ylim=(-1.8, 3.2))
    axes.axis("off")
