"""Structure drawing for monitoring: from the sensor to the alarm, with the trace that each fault leaves in the residual."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lessonlib.drawings_gated import circle, layer_box, wire
from lessonlib.drawings_recurrent import blank
from lessonlib.figures import COLOURS, new_figure

ROWS = (("spike", "point test"), ("energy", "RMS, CUSUM"), ("frozen", "rolling std"), ("offset", "fixed reference"),
        ("channels\ndisagree", "Mahalanobis"))


def traces(samples: int = 120, start: int = 50) -> list[np.ndarray]:
    """A residual of unit variance with each fault of `ROWS` from sample `start` on; the last has two channels."""
    noise = np.random.default_rng(5).standard_normal((6, samples))
    spike, energy, frozen, offset = noise[:4]
    spike[start:start + 2] = 7, -6
    energy[start:] *= 2.2
    frozen[start:] = 0.3
    offset[start:start + 2] += 5
    first, second = noise[4], noise[5]
    apart = np.where(np.arange(samples) < start, first, second)
    return [spike, energy, frozen, offset, 1.5 * np.stack([first, apart], axis=1)]


def _trace(ax: Axes, trace: np.ndarray, x: float, y: float, width: float, height: float) -> None:
    """A small curve in a box of that size with its middle at height y, or two of them one above the other."""
    pair = trace.reshape(len(trace), -1).T
    for i, curve in enumerate(pair):
        middle = y + (0.5 * height * (0.5 - i) if len(pair) == 2 else 0)
        ax.plot(x + np.linspace(0, width, len(curve)), middle + height / (16 * len(pair)) * curve, linewidth=0.8,
                color=COLOURS["lstm"] if i == 0 else COLOURS["rnn"])


def draw_monitor() -> Figure:
    """The pipeline at the top, and below it a row for each fault: its name, its trace, and the detector that sees it."""
    fig, ax = new_figure(height=4.1)
    blank(ax, 11.5, 10.2)
    ax.text(0.1, 9.3, r"sensor $x_t$", va="center")
    layer_box(ax, 4.1, 8.1, "forecaster", COLOURS["lstm"], width=2.5, height=0.85)
    circle(ax, 6.6, 9.3, r"$-$")
    wire(ax, (2.2, 9.3), (6.3, 9.3))
    wire(ax, (2.55, 9.3), (2.55, 8.1), (2.85, 8.1))
    wire(ax, (5.35, 8.1), (6.6, 8.1), (6.6, 9.0))
    ax.text(5.95, 7.7, r"$\hat{x}_t$", ha="center", va="center")
    wire(ax, (6.9, 9.3), (8.2, 9.3))
    ax.text(8.4, 9.3, r"residual $r_t$", va="center")
    for x, head in ((0.1, "fault"), (2.35, "residual"), (6.4, "detector")):
        ax.text(x, 7.15, head, va="center", fontsize=9, color=COLOURS["grey"])
    for i, ((fault, detector), trace) in enumerate(zip(ROWS, traces())):
        y = 6.2 - 1.35 * i
        ax.text(0.1, y, fault, va="center", fontsize=9)
        _trace(ax, trace, 2.35, y, 3.6, 1.3)
        layer_box(ax, 8.1, y, detector, COLOURS["gru"], width=3.4, height=0.85)
        wire(ax, (6.05, y), (6.38, y))
        wire(ax, (9.82, y), (10.55, y), tip=False)
    wire(ax, (10.55, 6.2), (10.55, 6.2 - 1.35 * 4), tip=False)
    wire(ax, (10.55, 3.5), (10.9, 3.5))
    ax.text(11.15, 3.5, "alarm", ha="center", va="center", rotation=90)
    return fig
