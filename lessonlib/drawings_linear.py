"""Structure drawings: one linear mode as a loop and as a kernel, and the rounds of a parallel scan."""

from __future__ import annotations

from matplotlib.figure import Figure

from lessonlib.arguments import count
from lessonlib.drawings_gated import circle, wire
from lessonlib.drawings_recurrent import arrow, blank
from lessonlib.figures import COLOURS, INK, PAPER, new_figure
from lessonlib.scan import scan_cost


def draw_mode(a: float, b: float, c: float, *, lags: int = 12) -> Figure:
    """One scalar mode twice: at the left its loop, at the right the kernel c a^k b that the loop amounts to.

    Parameters
    ----------
    a, b, c : float
        Coefficients of h_t = a h_{t-1} + b x_t, y_t = c h_t.
    lags : int
        Last lag of the kernel that is drawn.
    """
    fig, (left, right) = new_figure(1, 2, height=2.2, width_ratios=(1, 1.15))
    colour = COLOURS["linear"]
    blank(left, 5.6, 4.6)
    left.set_aspect("auto")
    wire(left, (0.5, 1.6), (1.95, 1.6))
    circle(left, 2.3, 1.6, "+", 0.35)
    wire(left, (2.65, 1.6), (5.1, 1.6))
    wire(left, (3.9, 1.6), (3.9, 3.4), (2.3, 3.4), (2.3, 1.95), colour=colour, width=1.6)
    left.text(3.1, 3.75, f"one step later,\ntimes a = {a:g}", ha="center", va="bottom", fontsize=9, color=colour, linespacing=1.1)
    for x, text in ((1.15, f"b = {b:g}"), (4.55, f"c = {c:g}")):
        left.text(x, 1.3, text, ha="center", va="top", fontsize=9, color=colour)
    for x, name in ((0.5, "$x_t$"), (3.45, "$h_t$"), (5.1, "$y_t$")):
        left.text(x, 1.85, name, ha="center", va="bottom")
    left.set_ylim(0.3, 5.4)
    kernel = [c * a**k * b for k in range(count("lags", lags) + 1)]
    right.vlines(range(lags + 1), 0, kernel, color=colour, linewidth=2)
    right.plot(range(lags + 1), kernel, "o", color=colour, markersize=4)
    right.axhline(0, color=INK, linewidth=0.8)
    right.set(xlabel="lag k", title="weight of $x_{t-k}$ in $y_t$", xticks=range(0, lags + 1, 4))
    return fig


def draw_scan(steps: int = 8) -> Figure:
    """The doubling scan: a column a step, a row a round; what a joined step covers is written in it.

    Parameters
    ----------
    steps : int
        From 2 to 8.
    """
    if not 2 <= steps <= 8:
        raise ValueError(f"steps is {steps}; it must be from 2 to 8")
    rounds, _ = scan_cost(steps, "doubling")
    wide, gap = 1.3, 1.25
    fig, ax = new_figure(height=0.55 + 0.62 * rounds)
    blank(ax, steps * wide + 1.3, (rounds + 1) * gap)
    ax.set_aspect("auto")
    for row in range(rounds + 1):
        y = (rounds - row + 0.45) * gap
        ax.text(0, y, f"round {row}" if row else "steps", va="center", fontsize=9)
        for t in range(steps):
            x = 1.3 + (t + 0.5) * wide
            first, reach = max(0, t + 1 - 2**row), 2 ** (row - 1) if row else 0
            joined = row and t >= reach
            if joined:
                arrow(ax, (x - reach * wide, y + gap - 0.3), (x - 0.14, y + 0.3), colour=COLOURS["linear"])
            if row:
                ax.plot([x, x], [y + gap - 0.3, y + 0.3], color=INK, linewidth=0.7)
            done = first == 0
            ax.text(x, y, f"{t + 1}" if first == t else f"{first + 1}–{t + 1}", ha="center", va="center_baseline", fontsize=9,
                    color=PAPER if done else INK,
                    bbox={"boxstyle": "round,pad=0.22", "facecolor": COLOURS["linear"] if done else PAPER,
                          "edgecolor": COLOURS["linear"], "linewidth": 1.0})
    return fig
