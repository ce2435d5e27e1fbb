"""Structure drawing of the mount lab: what the last step of a temporal convolutional network reads."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from lessonlib.arguments import count
from lessonlib.drawings_recurrent import blank
from lessonlib.figures import COLOURS, INK, PAPER, new_figure


def read_by_last(steps: int, dilations: Sequence[int]) -> list[set[int]]:
    """Steps of each level, input first, that the last step of the last layer reads; kernel 2, first step 0."""
    levels = [{count("steps", steps) - 1}]
    for dilation in reversed([count("dilations", d) for d in dilations]):
        levels.append({t for last in levels[-1] for t in (last, last - dilation) if t >= 0})
    return levels[::-1]


def draw_tcn(steps: int = 8, dilations: Sequence[int] = (1, 2, 4)) -> Figure:
    """Dots for the steps of each layer, lines for what each reads; what the last output needs is dark."""
    needed = read_by_last(steps, dilations)
    fig, ax = new_figure(height=0.9 + 0.55 * len(dilations))
    blank(ax, steps + 3.4, len(dilations) + 1.5)
    for level, used in enumerate(needed):
        for t in range(steps):
            dark = t in used
            if level:
                for source in (t, t - dilations[level - 1]):
                    if source >= 0:
                        ax.plot([source + 0.6, t + 0.6], [level - 0.4, level + 0.6], zorder=2 if dark else 1,
                                color=INK if dark else COLOURS["grey"], linewidth=1.6 if dark else 0.6, alpha=1 if dark else 0.5)
            ax.plot(t + 0.6, level + 0.6, "o", markersize=9, zorder=3, markeredgecolor=INK if dark else COLOURS["grey"],
                    markerfacecolor=INK if dark and level else PAPER)
        text = "window" if not level else f"dilation {dilations[level - 1]}"
        ax.text(steps + 0.3, level + 0.6, f"{text}: {len(used)}", va="center")
    return fig
