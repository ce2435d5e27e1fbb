"""Drawings of the chapter on vanishing gradients: the chain of Jacobians, the stretched circle, the cliff.

Each function draws into axes made by `lessonlib.figures.new_figure`; lengths are in the units of the axes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

from lessonlib.arguments import square
from lessonlib.figures import COLOURS, INK


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], *, colour: str = INK,
          width: float = 1.2, **options: object) -> None:
    """A straight arrow between two points; `options` as for matplotlib's FancyArrowPatch."""
    options = {"arrowstyle": "-|>", "mutation_scale": 9 + 1.5 * width, "shrinkA": 0, "shrinkB": 0, **options}
    axes.add_patch(FancyArrowPatch(start, end, color=colour, linewidth=width, **options))


def draw_chain(axes: Axes, shrink: float = 0.6) -> None:
    """Five states in a row: the state walks right, the error signal walks left through one Jacobian a step.

    The arrows of the error signal lose width by the factor `shrink` at every step back.
    """
    names = [r"$\mathbf{h}_{t}$", r"$\mathbf{h}_{t+1}$", r"$\cdots$", r"$\mathbf{h}_{T-1}$", r"$\mathbf{h}_{T}$"]
    for i, name in enumerate(names):
        if i != 2:
            axes.add_patch(FancyBboxPatch((i - 0.24, -0.2), 0.48, 0.4, boxstyle="round,pad=0.02,rounding_size=0.08",
                                          facecolor="none", edgecolor=INK, linewidth=1.2))
        axes.text(i, 0, name, ha="center", va="center", fontsize=11)
        if i < 4:
            arrow(axes, (i + 0.28, 0.08), (i + 0.72, 0.08))
            arrow(axes, (i + 0.72, -0.12), (i + 0.28, -0.12), colour=COLOURS["rnn"], width=4.5 * shrink ** (3 - i))
    jacobians = [r"$\mathbf{J}_{t+1}^\top$", r"$\mathbf{J}_{t+2}^\top$", r"$\mathbf{J}_{T-1}^\top$", r"$\mathbf{J}_{T}^\top$"]
    for i, name in enumerate(jacobians):
        axes.text(i + 0.5, -0.47, name, ha="center", va="center", fontsize=10, color=COLOURS["rnn"])
    axes.text(4, 0.66, "loss", ha="center", va="center", fontsize=11)
    arrow(axes, (4, 0.24), (4, 0.54))
    axes.text(0, 0.42, "cause", ha="center", va="center", fontsize=10)
    axes.text(2, 0.34, "state, forwards", ha="center", va="center", fontsize=10)
    axes.text(2, -0.76, "error signal, backwards: one factor a step", ha="center", va="center", fontsize=10,
              color=COLOURS["rnn"])
    axes.set(xlim=(-0.45, 4.45), ylim=(-0.95, 0.85))
    axes.set_axis_off()


def draw_stretch(axes: Axes, matrix: np.ndarray) -> None:
    """The unit circle and its image under a 2 x 2 matrix, with the direction that is stretched most."""
    matrix = square("matrix", matrix)
    if matrix.shape != (2, 2):
        raise ValueError(f"matrix has shape {matrix.shape}; only 2 x 2 can be drawn")
    left, values, right = np.linalg.svd(matrix)
    angle = np.linspace(0, 2 * np.pi, 200)
    image = matrix @ np.stack([np.cos(angle), np.sin(angle)])
    axes.add_patch(Circle((0, 0), 1, facecolor="none", edgecolor=COLOURS["grey"], linewidth=1.4, linestyle="--"))
    axes.plot(*image, color=COLOURS["rnn"])
    sign = np.sign(right[0, 0]) or 1.0
    start, end = sign * right[0], sign * values[0] * left[:, 0]
    arrow(axes, (0, 0), tuple(start), colour=COLOURS["grey"], width=1.6)
    arrow(axes, (0, 0), tuple(end), colour=COLOURS["rnn"], width=1.6)
    axes.set_aspect("equal")


def draw_cliff(axes: Axes, loss: Callable[[np.ndarray], np.ndarray], start: float, ends: dict[str, tuple[float, str]],
               span: tuple[float, float]) -> None:
    """A loss curve with one point on its wall and the steps that gradient descent takes from there.

    A step that leaves the range is drawn as an arrow to its edge.

    Parameters
    ----------
    loss : callable
        Loss at an array of parameters.
    start : float
        The parameter from which both steps leave.
    ends : dict
        Label of a step to the parameter where it lands and the colour of its arrow.
    span : (float, float)
        Range of the parameter to draw.
    """
    grid = np.unique(np.concatenate([np.linspace(*span, 800), np.linspace(start - 0.1, start + 0.1, 800)]))
    axes.plot(grid, loss(grid), color=INK, linewidth=1.4)
    at = float(loss(np.array([start]))[0])
    for label, (end, colour) in ends.items():
        inside = span[0] <= end <= span[1]
        edge = min(max(end, span[0]), span[1])
        arrow(axes, (start, at), (edge, at), colour=colour, width=1.8)
        axes.annotate(label, (edge, at), xytext=(0 if inside else 3, 7), textcoords="offset points", color=colour,
                      ha="center" if inside else "left", fontsize=10)
        if inside:
            landed = float(loss(np.array([end]))[0])
            axes.plot([end, end], [at, landed], color=colour, linewidth=1, linestyle=":")
            axes.plot([end], [landed], "o", color=colour, markersize=6)
    axes.plot([start], [at], "o", color=INK, markersize=6)
