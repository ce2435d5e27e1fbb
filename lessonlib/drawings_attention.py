"""Drawings of attention: one decoder step, an alignment as a grid, a query among its keys in the plane."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from lessonlib.arguments import count
from lessonlib.attention import attend, dot_scores
from lessonlib.drawings_gated import circle, layer_box, wire
from lessonlib.drawings_recurrent import arrow, blank
from lessonlib.figures import COLOURS, INK, PAPER, new_figure

ATTENTION, ENCODER, DECODER = COLOURS["attention"], COLOURS["gru"], COLOURS["lstm"]


def draw_attention_step(sources: int = 4) -> Figure:
    """One step: the state before it is scored against each annotation; the weighted sum enters the next state."""
    if not 2 <= sources <= 5:
        raise ValueError(f"sources is {sources}; it must be from 2 to 5")
    gap, left = 2.05, 3.5
    columns = [left + gap * j for j in range(sources)]
    right, middle = columns[-1], (columns[0] + columns[-1]) / 2
    fig, ax = new_figure(height=3.5)
    blank(ax, right + 1.35, 8.9)
    for j, x in enumerate(columns, start=1):
        layer_box(ax, x, 1.2, rf"$\mathbf{{h}}_{j}$", ENCODER, 1.1, 0.9)
        wire(ax, (x, 1.65), (x, 2.95))
        layer_box(ax, x, 3.4, rf"$e_{{t,{j}}}$", ATTENTION, 1.25, 0.9)
        wire(ax, (x, 3.85), (x, 4.6))
        wire(ax, (x, 5.4), (x, 6.15))
        ax.text(x + 0.1, 5.78, rf"$\alpha_{{t,{j}}}$", va="center", color=ATTENTION, fontsize=9)
        circle(ax, x, 6.45, "×")
        wire(ax, (x + 0.55, 1.3), (x + 0.92, 1.3), (x + 0.92, 6.45), (x + 0.3, 6.45), colour=ENCODER, width=0.9)
        side = (x > middle) - (x < middle)
        wire(ax, (x, 6.75), *([(x, 7.75), (middle + 0.33 * side, 7.75)] if side else [(x, 7.42)]), tip=abs(x - middle) <= gap)
    wire(ax, (1.6, 2.3), (right - 0.35, 2.3), tip=False, colour=DECODER)
    for x in columns:
        wire(ax, (x - 0.35, 2.3), (x - 0.35, 2.95), colour=DECODER)
    layer_box(ax, middle, 5.0, "softmax over the source", ATTENTION, right - left + 1.3, 0.8)
    circle(ax, middle, 7.75, "+")
    wire(ax, (middle, 8.05), (middle, 8.5), (0.95, 8.5), (0.95, 8.2), colour=ATTENTION, width=2.2)
    ax.text((middle + 0.95) / 2, 8.58, r"context $\mathbf{a}_t$", va="bottom", ha="center", color=ATTENTION, fontsize=9)
    layer_box(ax, 0.95, 2.3, r"$\mathbf{s}_{t-1}$", DECODER, 1.3, 0.9)
    layer_box(ax, 0.95, 7.75, r"$\mathbf{s}_t$", DECODER, 1.3, 0.9)
    wire(ax, (0.95, 2.75), (0.95, 7.3), colour=DECODER)
    return fig


def draw_alignment(ax: Axes, weights: Tensor, rows: Sequence[str], columns: Sequence[str], *, ringed: Sequence[int] = ()) -> None:
    """Weights (rows, columns) as a grid: the darker, the more; a ring marks column `ringed[i]` of row i."""
    if tuple(weights.shape) != (len(rows), len(columns)):
        raise ValueError(f"weights has shape {tuple(weights.shape)}; with these labels it must be {(len(rows), len(columns))}")
    for i, row in enumerate(weights.tolist()):
        for j, weight in enumerate(row):
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=ATTENTION, alpha=min(1.0, max(0.0, weight)), linewidth=0))
    for i, j in enumerate(ringed):
        ax.plot(j, i, marker="o", markersize=7, markerfacecolor="none", markeredgecolor=INK, markeredgewidth=1.1)
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5), aspect="equal")
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(length=0, labelsize=9)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.grid(False)


def draw_query(keys: Tensor, query: Tensor) -> Figure:
    """Keys in the plane that are values as well, a query, its weights as areas and as bars, and the context."""
    if keys.ndim != 2 or keys.shape[1] != 2 or query.shape != (2,):
        raise ValueError(f"keys has shape {tuple(keys.shape)} and query {tuple(query.shape)}; they must be (S, 2) and (2,)")
    context, weights = (part[0] for part in attend(dot_scores(query[None], keys), keys))
    fig, (plane, bars) = new_figure(1, 2, height=2.7, width_ratios=[3, 2])
    span = 1.15 * max(keys.abs().max().item(), query.abs().max().item())
    plane.set(xlim=(-span, span), ylim=(-span, span), aspect="equal", xticks=[], yticks=[])
    plane.axhline(0, color=COLOURS["grey"], linewidth=0.6)
    plane.axvline(0, color=COLOURS["grey"], linewidth=0.6)
    arrow(plane, (0, 0), tuple(query.tolist()), colour=DECODER)
    for j, (key, weight) in enumerate(zip(keys.tolist(), weights.tolist()), start=1):
        plane.scatter(*key, s=30 + 500 * weight, color=ENCODER, alpha=0.35, linewidth=0)
        plane.text(*key, str(j), ha="center", va="center_baseline", fontsize=9)
    plane.scatter(*context.tolist(), s=45, marker="D", color=ATTENTION, zorder=4)
    bars.barh(range(1, count("keys", len(keys)) + 1), weights.tolist(), color=ATTENTION, edgecolor=PAPER)
    bars.set(ylim=(len(keys) + 0.6, 0.4), xlim=(0, 1), xlabel="weight", yticks=range(1, len(keys) + 1))
    bars.grid(False)
    return fig
