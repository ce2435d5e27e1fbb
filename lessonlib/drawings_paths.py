"""Drawings of dependency graphs: which positions an output depends on, layer by layer, and by which way.

Row 0 holds the inputs, row l the outputs of layer l, and columns are positions. A recurrence adds ways from left to
right within a row.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lessonlib.arguments import count
from lessonlib.complexity import doubling
from lessonlib.figures import COLOURS, INK, PAPER, new_figure

Node = tuple[int, int]  # row, position
KINDS = {"recurrence": "gru", "convolution": "lstm", "dilated": "lstm", "attention": "attention"}


def parents(node: Node, kind: str, dilations: Sequence[int], kernel: int) -> list[Node]:
    """The nodes that a node is computed from directly."""
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")
    row, position = node
    if row == 0:
        return []
    if kind == "recurrence":
        return [(row - 1, position)] + ([(row, position - 1)] if position else [])
    if kind == "attention":
        return [(row - 1, p) for p in range(position + 1)]
    return [(row - 1, p) for p in (position - tap * dilations[row - 1] for tap in range(kernel)) if p >= 0]


def ways(kind: str, layers: int, steps: int, kernel: int = 2) -> tuple[set[tuple[Node, Node]], list[Node]]:
    """Every edge that the last output depends on, and a shortest way to it from the earliest input that it sees.

    Returns
    -------
    edges, way
        Edges as (parent, child); the way as nodes, the output last.
    """
    dilations = doubling(kernel, layers) if kind == "dilated" else [1] * count("layers", layers)
    output = (layers, count("steps", steps) - 1)
    edges, child, front = set(), {output: None}, [output]
    while front:
        reached = []
        for node in front:
            for parent in parents(node, kind, dilations, kernel):
                edges.add((parent, node))
                if parent not in child:
                    child[parent] = node
                    reached.append(parent)
        front = reached
    node = min((n for n in child if n[0] == 0), key=lambda n: n[1])
    way = [node]
    while child[node] is not None:
        node = child[node]
        way.append(node)
    return edges, way


def draw_graph(ax: Axes, kind: str, layers: int, steps: int, kernel: int = 2) -> None:
    """The nodes, what the last output depends on (thin), and a shortest way from the first input it sees (thick)."""
    edges, way = ways(kind, layers, steps, kernel)
    colour, on_way = COLOURS[KINDS[kind]], set(zip(way, way[1:]))
    seen = {node for edge in edges for node in edge}
    for parent, node in edges:
        thick = (parent, node) in on_way
        ax.plot([parent[1], node[1]], [parent[0], node[0]], color=colour if thick else COLOURS["grey"],
                linewidth=2.2 if thick else 0.8, zorder=2 if thick else 1, solid_capstyle="round")
    for row in range(layers + 1):
        for position in range(steps):
            node = (row, position)
            ax.plot(position, row, marker="s" if row == 0 else "o", markersize=6.5, zorder=3,
                    markerfacecolor=colour if node in way else PAPER, markeredgecolor=INK if node in seen else COLOURS["grey"],
                    markeredgewidth=1.2 if node in seen else 0.6)
    ax.set(xlim=(-0.6, steps - 0.4), ylim=(-0.45, layers + 0.45))
    ax.axis("off")


def draw_dependencies(steps: int = 8) -> Figure:
    """A recurrence, a dilated stack and attention over the same positions, one below the other."""
    layers = 1
    while 2**layers < count("steps", steps):
        layers += 1
    panels = (("recurrence", 1, f"recurrence: {steps - 1} steps from the first position to the last"),
              ("dilated", layers, f"dilated convolutions, kernel 2: {layers} layers"), ("attention", 1, "attention: one step"))
    fig, axes = new_figure(3, 1, height=4.4, height_ratios=[1.25, layers + 0.4, 1.4])
    for ax, (kind, depth, title) in zip(axes, panels):
        draw_graph(ax, kind, depth, steps)
        ax.set_title(title, loc="left", fontsize=10)
    return fig


def draw_reach(kind: str, layers: int, steps: int, kernel: int = 2) -> Figure:
    """One graph, with its positions numbered below."""
    fig, ax = new_figure(height=2.6)
    draw_graph(ax, kind, layers, steps, kernel)
    ax.set_ylim(-1.0, layers + 0.45)
    for position in range(steps):
        ax.text(position, -0.42, str(position + 1), ha="center", va="top", fontsize=8.5)
    return fig
