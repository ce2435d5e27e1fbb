"""Drawings of backpropagation through time: two paths to the loss, the signal walking back, and truncation.

`walk_back` computes what the interactive figure of the unrolled network shows, one sequence, step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from lessonlib.bptt import Weights, forward
from lessonlib.drawings_recurrent import arrow, blank, cell
from lessonlib.figures import COLOURS, INK, new_figure

SIGNAL = COLOURS["lstm"]  # the colour of gradients in these drawings


def walk_back(weights: Weights, inputs: ArrayLike, output_gradients: ArrayLike,
              cut: int | None = None) -> dict[str, Any]:
    """Every number of a backward pass of one sequence.

    Parameters
    ----------
    inputs, output_gradients : (T, d_in) and (T, d_out)
    cut : int, optional
        No signal passes from step `cut` + 1 back to step `cut`.

    Returns
    -------
    dict
        Arrays over steps 1 to T: `h`, `from_output`, `from_later`, `delta`, `g` (T, H), `terms` (T, H, H), and
        `h_0`, `delta_0` (H,).
    """
    x, dy = np.asarray(inputs, float), np.asarray(output_gradients, float)
    if x.ndim != 2 or dy.shape != (len(x), len(weights.c)) or not (cut is None or 1 <= cut < len(x)):
        raise ValueError(f"inputs has shape {x.shape}, output_gradients {dy.shape}, cut is {cut}; they must be "
                         f"(T, d_in), (T, {len(weights.c)}) and None or from 1 to T - 1")
    h = forward(weights, x[None]).states[:, 0]
    from_output, later = dy @ weights.W_y, np.zeros_like(h)
    delta, g = np.zeros_like(from_output), np.zeros_like(from_output)
    for t in range(len(x), 0, -1):
        delta[t - 1] = from_output[t - 1] + later[t]
        g[t - 1] = (1 - h[t] ** 2) * delta[t - 1]
        later[t - 1] = 0 if t - 1 == cut else weights.W_h.T @ g[t - 1]
    return {"h_0": h[0], "h": h[1:], "from_output": from_output, "from_later": later[1:], "delta": delta, "g": g,
            "terms": np.einsum("ti,tj->tij", g, h[:-1]), "delta_0": later[0]}


def draw_two_paths() -> Figure:
    """The state h_t and the two ways in which it reaches the loss, with the gradients that come back."""
    fig, ax = new_figure(height=2.45)
    blank(ax, 9.2, 4.9)
    for x, y, label in ((1.3, 1.3, r"\mathbf{h}_t"), (4.6, 1.3, r"\mathbf{z}_{t+1}"), (1.3, 3.9, r"\mathbf{y}_t")):
        cell(ax, x, y, f"${label}$")
    ax.text(4.6, 3.9, r"$L_t$", ha="center", va="center", fontsize=12)
    ax.text(7.9, 1.3, r"$L_{t+1},\ L_{t+2},\ \ldots$", ha="center", va="center", fontsize=12)
    arrow(ax, (1.2, 1.82), (1.2, 3.38))
    arrow(ax, (1.82, 4.0), (4.15, 4.0))
    arrow(ax, (1.82, 1.4), (4.08, 1.4))
    arrow(ax, (5.12, 1.4), (6.6, 1.4))
    for start, end in (((1.42, 3.38), (1.42, 1.82)), ((4.15, 3.8), (1.82, 3.8)), ((4.08, 1.2), (1.82, 1.2)),
                       ((6.6, 1.2), (5.12, 1.2))):
        arrow(ax, start, end, colour=SIGNAL)
    ax.text(1.58, 2.6, r"$\mathbf{W}_y^\top\,\partial L_t/\partial\mathbf{y}_t$", color=SIGNAL, va="center")
    ax.text(2.95, 0.62, r"$\mathbf{W}_h^\top\,\mathbf{g}_{t+1}$", color=SIGNAL, ha="center", va="center")
    ax.text(5.85, 0.62, r"$\mathbf{g}_{t+1}$", color=SIGNAL, ha="center", va="center")
    ax.text(1.05, 2.6, "now", ha="right", va="center")
    ax.text(2.95, 1.78, "later", ha="center", va="center")
    return fig


def states_in_a_row(ax: Axes, count: int, gap: float, y: float) -> list[float]:
    """Boxes h_1 to h_count, an arrow from each to its loss above; returns where they stand."""
    places = [1.0 + gap * (t + 1) for t in range(count)]
    ax.text(0.45, y, r"$\mathbf{h}_0$", ha="center", va="center")
    for t, x in enumerate(places, start=1):
        cell(ax, x, y, rf"$\mathbf{{h}}_{t}$")
        arrow(ax, (x - 0.1, y + 0.48), (x - 0.1, y + 1.3))
        ax.text(x, y + 1.6, rf"$L_{t}$", ha="center", va="center")
    return places


def draw_truncation(steps: int = 6, chunk: int = 3) -> Figure:
    """The unrolled network in pieces of `chunk` steps: the state crosses a boundary, the signal does not."""
    if not 1 <= chunk < steps <= 8:
        raise ValueError(f"steps is {steps}, chunk {chunk}; steps must be at most 8 and chunk from 1 to steps - 1")
    gap, y = 1.55, 1.9
    fig, ax = new_figure(height=1.85)
    blank(ax, 1.0 + gap * steps + 0.8, 4.1)
    places = states_in_a_row(ax, steps, gap, y)
    for t, x in enumerate(places):
        left = 0.75 if t == 0 else places[t - 1] + 0.48
        crosses = t % chunk == 0
        arrow(ax, (left, y + (0 if crosses else 0.12)), (x - 0.48, y + (0 if crosses else 0.12)))
        arrow(ax, (x + 0.14, y + 1.3), (x + 0.14, y + 0.48), colour=SIGNAL)
        if not crosses:
            arrow(ax, (x - 0.48, y - 0.18), (left, y - 0.18), colour=SIGNAL)
        elif t:
            middle = (places[t - 1] + x) / 2
            ax.plot([middle, middle], [y - 1.0, y + 1.75], color=INK, linewidth=1, linestyle=(0, (3, 2)))
            ax.text(middle, y - 1.35, "cut", ha="center", va="center")
    for start in range(0, steps, chunk):
        ends = places[start], places[min(start + chunk, steps) - 1]
        ax.text(sum(ends) / 2, y - 0.85, "signal stays inside", color=SIGNAL, ha="center", va="center")
    return fig


def draw_unrolled_signal(walk: dict[str, Any]) -> Figure:
    """The unrolled network of a walk with the numbers of its signals: what the interactive figure shows at its end."""
    steps = len(walk["h"])
    fig, ax = new_figure(height=2.75)
    blank(ax, 331, 198)
    for t in range(steps + 1):
        x = column_at(t, steps)
        ax.text(x, 100, rf"$\mathbf{{h}}_{t}$", ha="center", va="center")
        values = [walk["delta_0"]] if t == 0 else [walk["delta"][t - 1], walk["g"][t - 1]]
        for name, row, (a, b) in zip(("δ", "g"), (62, 26), values, strict=False):
            ax.text(x, row, f"{name}$_{t}$", ha="center", va="center", color=SIGNAL)
            ax.text(x, row - 13, f"{a:.2f}, {b:.2f}".replace("-", "−"), ha="center", va="center", color=SIGNAL,
                    fontsize=9)
        if t:
            before = column_at(t - 1, steps)
            ax.text(x, 172, rf"$L_{t}$", ha="center", va="center")
            arrow(ax, (x - 5, 114), (x - 5, 160))
            arrow(ax, (x + 5, 160), (x + 5, 114), colour=SIGNAL)
            arrow(ax, (before + 14, 105), (x - 14, 105))
            arrow(ax, (x - 14, 95), (before + 14, 95), colour=SIGNAL)
    return fig


def column_at(t: int, steps: int) -> float:
    """Where step t stands in the drawing of a walk, in points."""
    return 34 + t * (331 - 68) / steps
