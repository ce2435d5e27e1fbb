"""Structure drawings of the plain recurrent network: its shapes, and its loop drawn out over the steps."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from lessonlib.figures import COLOURS, INK, PAPER, new_figure


def blank(ax: Axes, width: float, height: float) -> None:
    """Axes without frame, from 0 to `width` and 0 to `height`, one unit as long in x as in y."""
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")


def arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], *, bend: float = 0.0,
          colour: str = INK) -> None:
    """An arrow from one point to another; `bend` is its curvature."""
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=9, linewidth=1.3, color=colour,
                                 shrinkA=0, shrinkB=0, connectionstyle=f"arc3,rad={bend}"))


def cell(ax: Axes, x: float, y: float, label: str, size: float = 0.9) -> None:
    """A rounded box with a label in its middle, centred on (x, y)."""
    ax.add_patch(FancyBboxPatch((x - size / 2, y - size / 2), size, size, boxstyle="round,pad=0,rounding_size=0.15",
                                linewidth=1.6, edgecolor=COLOURS["rnn"], facecolor=PAPER, zorder=3))
    ax.text(x, y, label, ha="center", va="center", zorder=4)


def column(ax: Axes, x: float, y: float, *, state: str, symbol: str) -> None:
    """One step: input below, cell in the middle, output above, each arrow with its weights."""
    cell(ax, x, y, state)
    arrow(ax, (x, y - 1.35), (x, y - 0.47))
    arrow(ax, (x, y + 0.45), (x, y + 1.33))
    ax.text(x, y - 1.45, rf"$\mathbf{{x}}_{{{symbol}}}$", ha="center", va="top")
    ax.text(x, y + 1.43, rf"$\mathbf{{y}}_{{{symbol}}}$", ha="center", va="bottom")
    ax.text(x + 0.09, y - 0.95, r"$\mathbf{W}_x$", color=COLOURS["rnn"], fontsize=9, va="center")
    ax.text(x + 0.09, y + 0.9, r"$\mathbf{W}_y$", color=COLOURS["rnn"], fontsize=9, va="center")


def draw_unrolled(steps: int = 3) -> Figure:
    """The network with its loop at the left, and the same network over some steps at the right.

    Parameters
    ----------
    steps : int
        Copies at the right, from 2 to 4.
    """
    if not 2 <= steps <= 4:
        raise ValueError(f"steps is {steps}; it must be 2, 3 or 4")
    gap, middle = 1.55, 2.2
    first = 4.45
    fig, ax = new_figure(height=2.2)
    blank(ax, first + (steps - 1) * gap + 1.35, 4.4)
    column(ax, 0.6, middle, state=r"$\mathbf{h}_t$", symbol="t")
    ax.add_patch(FancyArrowPatch((1.07, middle + 0.2), (1.07, middle - 0.2), arrowstyle="-|>", mutation_scale=9,
                                 linewidth=1.3, color=INK, shrinkA=0, shrinkB=0,
                                 connectionstyle="arc,angleA=0,angleB=0,armA=22,armB=22,rad=8"))
    ax.text(1.78, middle, r"$\mathbf{W}_h$", color=COLOURS["rnn"], fontsize=9, va="center")
    ax.text(2.35, middle + 1.05, "unroll", ha="center", fontsize=9)
    arrow(ax, (1.95, middle + 0.9), (2.75, middle + 0.9))
    ax.text(first - 1.42, middle, r"$\mathbf{h}_0$", ha="center", va="center")
    for k in range(steps):
        x = first + k * gap
        column(ax, x, middle, state=rf"$\mathbf{{h}}_{k + 1}$", symbol=str(k + 1))
        arrow(ax, (x - gap + (0.47 if k else 0.38), middle), (x - 0.47, middle))
        ax.text(x - gap / 2, middle + 0.13, r"$\mathbf{W}_h$", color=COLOURS["rnn"], fontsize=9, ha="center",
                va="bottom")
    end = first + (steps - 1) * gap
    arrow(ax, (end + 0.47, middle), (end + 1.08, middle))
    ax.text(end + 1.22, middle, "…", ha="center", va="center")
    return fig


def block(ax: Axes, x: float, y: float, width: float, height: float, label: str, size: str, colour: str) -> None:
    """A matrix or vector as a rectangle around (x, y): its symbol inside, its shape below."""
    ax.add_patch(Rectangle((x - width / 2, y - height / 2), width, height, linewidth=1.4, edgecolor=colour,
                           facecolor="none"))
    ax.text(x, y, label, ha="center", va="center")
    ax.text(x, y - height / 2 - 0.12, size, ha="center", va="top", fontsize=9)


def product_row(ax: Axes, y: float, title: str, parts: list[tuple[float, float, str, str, bool]]) -> None:
    """Blocks from left to right: (width, height, symbol, shape, weight or not); a symbol alone is a sign."""
    ax.text(0.05, y + 1.02, title)
    x = 0.05
    for width, height, label, size, weight in parts:
        if not height:
            ax.text(x + width / 2, y, label, ha="center", va="center")
        else:
            block(ax, x + width / 2, y, width, height, label, size, COLOURS["rnn"] if weight else INK)
        x += width + 0.14


def draw_shapes() -> Figure:
    """One step drawn to scale for H = 4, d_in = 2: for one sequence above, for a batch of three below."""
    H, d, B, one = 1.28, 0.64, 0.96, 0.42
    equals, plus = (0.34, 0, "=", "", False), (0.34, 0, "+", "", False)
    HH, Hd, dH = r"$H\!\times\!H$", r"$H\!\times\!d_{in}$", r"$d_{in}\!\times\!H$"
    BH, Bd = r"$B\!\times\!H$", r"$B\!\times\!d_{in}$"
    fig, ax = new_figure(height=2.75)
    blank(ax, 9.3, 5.5)
    product_row(ax, 4.1, "one sequence, vectors are columns", [
        (one, H, r"$\mathbf{z}$", "$H$", False), equals,
        (H, H, r"$\mathbf{W}_h$", HH, True), (one, H, r"$\mathbf{h}$", "$H$", False), plus,
        (d, H, r"$\mathbf{W}_x$", Hd, True), (one, d, r"$\mathbf{x}$", r"$d_{in}$", False), plus,
        (one, H, r"$\mathbf{b}$", "$H$", True)])
    product_row(ax, 1.1, "a batch of three, sequences are rows", [
        (H, B, r"$\mathbf{Z}$", BH, False), equals,
        (H, B, r"$\mathbf{H}$", BH, False), (H, H, r"$\mathbf{W}_h^{\top}$", HH, True), plus,
        (d, B, r"$\mathbf{X}$", Bd, False), (H, d, r"$\mathbf{W}_x^{\top}$", dH, True), plus,
        (H, one, r"$\mathbf{b}^{\top}$", "to each row", True)])
    return fig
