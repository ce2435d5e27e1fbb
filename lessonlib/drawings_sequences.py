"""Structure drawing of the four shapes of a sequence task: where inputs enter, where outputs and the loss are.

Every panel is `WIDE` units wide and `HIGH` units high; positions are centres of boxes.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from lessonlib.drawings_recurrent import arrow, blank
from lessonlib.figures import COLOURS, INK, new_figure

WIDE, HIGH = 5.2, 4.3
INPUT, STATE, OUTPUT = 0.45, 1.75, 3.05  # heights of the three rows
SIZE = 0.62


def box(ax: Axes, x: float, y: float, colour: str, *, filled: bool = False) -> None:
    """A square centred on (x, y); a filled one marks an output with a loss."""
    ax.add_patch(Rectangle((x - SIZE / 2, y - SIZE / 2), SIZE, SIZE, linewidth=1.4, edgecolor=colour,
                           facecolor=colour if filled else "none", alpha=1.0))


def draw_shape(ax: Axes, title: str, inputs: list[int], outputs: list[int], steps: int, *,
               feeds_back: bool = False) -> None:
    """One task shape: a chain of states with some inputs below and some outputs above.

    Parameters
    ----------
    inputs, outputs : list of int
        The steps, from 1 to `steps`, that have an input and an output.
    steps : int
        States in the chain, from 1 to 5.
    feeds_back : bool
        Whether each output becomes the input of the step after it.

    Raises
    ------
    ValueError
        If a step does not exist, or the chain does not fit.
    """
    if not 1 <= steps <= 5:
        raise ValueError(f"steps is {steps}; it must be from 1 to 5")
    for name, given in (("inputs", inputs), ("outputs", outputs)):
        if not given or min(given) < 1 or max(given) > steps:
            raise ValueError(f"{name} is {given}; it must hold steps from 1 to {steps}")
    blank(ax, WIDE, HIGH)
    ax.text(0.1, HIGH - 0.05, title, va="top", fontsize=10)
    half, gap = SIZE / 2, 1.0
    x = [0.6 + gap * step for step in range(steps)]
    for step in range(1, steps + 1):
        here = x[step - 1]
        box(ax, here, STATE, COLOURS["rnn"])
        if step < steps:
            arrow(ax, (here + half, STATE), (here + gap - half, STATE))
        if step in inputs:
            box(ax, here, INPUT, COLOURS["grey"])
            arrow(ax, (here, INPUT + half), (here, STATE - half))
        if step in outputs:
            box(ax, here, OUTPUT, INK, filled=True)
            arrow(ax, (here, STATE + half), (here, OUTPUT - half))
        if feeds_back and step in outputs and step < steps:
            ax.add_patch(FancyArrowPatch((here + half, OUTPUT), (here + gap - 0.12, STATE + half + 0.02),
                                         arrowstyle="-|>", mutation_scale=9, linewidth=1.2, linestyle="--",
                                         color=INK, shrinkA=0, shrinkB=0,
                                         connectionstyle="arc3,rad=-0.15"))


def draw_task_shapes() -> Figure:
    """The four shapes, two by two, with a key of the three kinds of box below them."""
    fig, axes = new_figure(2, 2, height=4.3)
    draw_shape(axes[0, 0], "many to one", [1, 2, 3, 4], [4], 4)
    draw_shape(axes[0, 1], "aligned", [1, 2, 3, 4], [1, 2, 3, 4], 4)
    draw_shape(axes[1, 0], "unequal lengths", [1, 2, 3], [4, 5], 5, feeds_back=True)
    draw_shape(axes[1, 1], "one to many", [1], [1, 2, 3, 4], 4, feeds_back=True)
    fig.supxlabel("rows from below: input, state, output (filled: has a loss)", fontsize=9)
    return fig
