"""Structure drawings: the LSTM cell, the GRU cell, and a stacked bidirectional network."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

from lessonlib.drawings_recurrent import arrow, blank
from lessonlib.figures import COLOURS, INK, PAPER, new_figure

Point = tuple[float, float]


def wire(ax: Axes, *points: Point, colour: str = INK, width: float = 1.3, tip: bool = True) -> None:
    """A line through the points, with an arrowhead at its end unless `tip` is false."""
    xs, ys = zip(*points, strict=True)
    ax.plot(xs, ys, color=colour, linewidth=width, solid_capstyle="butt", zorder=1)
    if tip:
        (x0, y0), (x1, y1) = points[-2:]
        length = abs(x1 - x0) + abs(y1 - y0)
        arrow(ax, (x1 - (x1 - x0) * 0.2 / length, y1 - (y1 - y0) * 0.2 / length), (x1, y1), colour=colour)


def circle(ax: Axes, x: float, y: float, sign: str, radius: float = 0.3) -> None:
    """An operation on two vectors, element by element: a sign in a circle."""
    ax.add_patch(Circle((x, y), radius, facecolor=PAPER, edgecolor=INK, linewidth=1.2, zorder=3))
    ax.text(x, y, sign, ha="center", va="center_baseline", fontsize=11, zorder=4)


def layer_box(ax: Axes, x: float, y: float, text: str, colour: str, width: float = 1.1, height: float = 0.8,
              filled: bool = False) -> None:
    """A box with rounded corners around (x, y): weights followed by an activation function, or a recurrent cell."""
    ax.add_patch(FancyBboxPatch((x - width / 2, y - height / 2), width, height, boxstyle="round,pad=0,rounding_size=0.12",
                                facecolor=colour if filled else PAPER, edgecolor=colour, linewidth=1.5, zorder=3))
    ax.text(x, y, text, ha="center", va="center_baseline", color=PAPER if filled else INK, zorder=4)


def draw_lstm_cell() -> Figure:
    """One LSTM step: the cell state along the top, three gates and the candidate below, the output at the right."""
    colour, top, middle, low = COLOURS["lstm"], 5.4, 2.3, 0.9
    fig, ax = new_figure(height=3.0)
    blank(ax, 10.6, 6.9)
    wire(ax, (1.0, top), (9.6, top), colour=colour, width=3.4)
    for x, name in ((2.5, "σ"), (4.1, "σ"), (5.7, "tanh"), (7.1, "σ")):
        layer_box(ax, x, middle, name, colour)
        wire(ax, (x, low), (x, middle - 0.4))
    wire(ax, (1.0, low), (7.1, low), tip=False)
    wire(ax, (1.6, 0.35), (1.6, low), tip=False)
    wire(ax, (2.5, middle + 0.4), (2.5, top - 0.3))
    wire(ax, (4.1, middle + 0.4), (4.1, 3.75), (4.6, 3.75))
    wire(ax, (5.7, middle + 0.4), (5.7, 3.75), (5.2, 3.75))
    wire(ax, (4.9, 4.05), (4.9, top - 0.3))
    wire(ax, (8.5, top), (8.5, 4.75))
    layer_box(ax, 8.5, 4.35, "tanh", INK)
    wire(ax, (8.5, 3.95), (8.5, 3.55))
    wire(ax, (7.1, middle + 0.4), (7.1, 3.25), (8.2, 3.25))
    wire(ax, (8.5, 2.95), (8.5, low), (9.6, low))
    for x, y, sign in ((2.5, top, "×"), (4.9, 3.75, "×"), (4.9, top, "+"), (8.5, 3.25, "×")):
        circle(ax, x, y, sign)
    labels = [(0.5, top, r"$\mathbf{c}_{t-1}$"), (10.1, top, r"$\mathbf{c}_t$"), (0.5, low, r"$\mathbf{h}_{t-1}$"),
              (1.6, 0.05, r"$\mathbf{x}_t$"), (10.1, low, r"$\mathbf{h}_t$"), (2.1, 3.75, r"$\mathbf{f}_t$"),
              (3.75, 3.3, r"$\mathbf{i}_t$"), (6.1, 3.3, r"$\tilde{\mathbf{c}}_t$"), (7.45, 2.95, r"$\mathbf{o}_t$")]
    for x, y, text in labels:
        ax.text(x, y, text, ha="center", va="center")
    ax.text(2.5, top + 0.75, "keep", ha="center", va="center", fontsize=9)
    ax.text(4.9, top + 0.75, "write", ha="center", va="center", fontsize=9)
    ax.text(8.95, 2.3, "read", ha="left", va="center", fontsize=9)
    return fig


def draw_gru_cell() -> Figure:
    """One GRU step with the reset gate before the product: the state along the top, two gates and the candidate below."""
    colour, top, middle, h_line, x_line = COLOURS["gru"], 5.4, 2.3, 1.15, 0.55
    fig, ax = new_figure(height=3.0)
    blank(ax, 10.6, 6.9)
    wire(ax, (1.0, top), (9.6, top), colour=colour, width=3.4)
    wire(ax, (1.3, top), (1.3, h_line), (7.5, h_line), tip=False)
    wire(ax, (1.0, x_line), (7.8, x_line), tip=False)
    for x, name in ((2.7, "σ"), (5.2, "tanh"), (7.65, "σ")):
        layer_box(ax, x, middle, name, colour)
    for x in (2.55, 7.5):
        wire(ax, (x, h_line), (x, middle - 0.4))
        wire(ax, (x + 0.3, x_line), (x + 0.3, middle - 0.4))
    wire(ax, (5.2, x_line), (5.2, middle - 0.4))
    wire(ax, (2.7, middle + 0.4), (2.7, 3.25))
    wire(ax, (1.3, 3.55), (2.4, 3.55))
    wire(ax, (3.0, 3.55), (3.75, 3.55), (3.75, middle), (4.65, middle))
    wire(ax, (5.2, middle + 0.4), (5.2, 3.55), (6.0, 3.55))
    wire(ax, (7.65, middle + 0.4), (7.65, 3.55), (6.6, 3.55))
    wire(ax, (7.65, 3.55), (7.65, 4.4), (4.4, 4.4), (4.4, top - 0.3))
    wire(ax, (6.3, 3.85), (6.3, top - 0.3))
    for x, y, sign in ((2.7, 3.55, "×"), (6.3, 3.55, "×"), (4.4, top, "×"), (6.3, top, "+")):
        circle(ax, x, y, sign)
    labels = [(0.5, top, r"$\mathbf{h}_{t-1}$"), (10.1, top, r"$\mathbf{h}_t$"), (0.5, x_line, r"$\mathbf{x}_t$"),
              (3.1, 3.0, r"$\mathbf{r}_t$"), (8.1, 3.3, r"$\mathbf{u}_t$"), (4.8, 3.2, r"$\tilde{\mathbf{h}}_t$"),
              (3.55, 4.75, r"$1-\mathbf{u}_t$")]
    for x, y, text in labels:
        ax.text(x, y, text, ha="center", va="center")
    ax.text(4.4, top + 0.75, "keep", ha="center", va="center", fontsize=9)
    ax.text(6.3, top + 0.75, "replace", ha="center", va="center", fontsize=9)
    return fig


def draw_stacked_bidirectional(steps: int = 4, layers: int = 2) -> Figure:
    """Layers of two chains each, one in either direction; the two states that have read everything are filled."""
    if steps < 2 or layers < 1:
        raise ValueError(f"steps is {steps} and layers {layers}; steps must be at least 2, layers at least 1")
    ahead, behind, gap, storey = COLOURS["gru"], COLOURS["rnn"], 2.5, 3.1
    fig, ax = new_figure(height=0.75 + 1.45 * layers)
    blank(ax, steps * gap + 0.2, layers * storey + 1.5)
    columns = [1.25 + k * gap for k in range(steps)]
    for k, x in enumerate(columns):
        ax.text(x, 0.3, r"$\mathbf{x}_T$" if k == steps - 1 else rf"$\mathbf{{x}}_{k + 1}$", ha="center", va="center")
        for layer in range(layers):
            base, last = 0.65 + layer * storey, layer == layers - 1
            wire(ax, (x, base), (x, base + 0.25), (x - 0.5, base + 0.25), (x - 0.5, base + 0.55))
            wire(ax, (x, base + 0.25), (x + 0.5, base + 0.25), (x + 0.5, base + 1.35))
            layer_box(ax, x - 0.5, base + 0.85, "→", ahead, 0.8, 0.6, filled=last and k == steps - 1)
            layer_box(ax, x + 0.5, base + 1.65, "←", behind, 0.8, 0.6, filled=last and k == 0)
            wire(ax, (x - 0.5, base + 1.15), (x - 0.5, base + 2.3), (x, base + 2.3), tip=False)
            wire(ax, (x + 0.5, base + 1.95), (x + 0.5, base + 2.3), (x, base + 2.3), (x, base + storey), tip=last)
            if k:
                wire(ax, (x - gap - 0.1, base + 0.85), (x - 0.9, base + 0.85), colour=ahead)
                wire(ax, (x + 0.1, base + 1.65), (x - gap + 0.9, base + 1.65), colour=behind)
        ax.text(x, 0.65 + layers * storey + 0.35, r"$\mathbf{y}_T$" if k == steps - 1 else rf"$\mathbf{{y}}_{k + 1}$",
                ha="center", va="center")
    return fig
