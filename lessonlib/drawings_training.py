"""Structure drawings for training in practice: batches padded, masked and packed; last states; streams in chunks."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lessonlib.arguments import count
from lessonlib.drawings_gated import layer_box, wire
from lessonlib.drawings_recurrent import arrow, blank
from lessonlib.figures import COLOURS, INK, PAPER, WIDTH, new_figure
from lessonlib.packing import checked_lengths, running, wasted_share

POINTS = 72 * WIDTH  # width of a figure in points, the unit of the batch drawing
LEFT, BETWEEN, GAP, HEAD = 16, 22, 6, 18
REAL = COLOURS["lstm"]


def in_batches(lengths: Sequence[int], batch_size: int, by_length: bool) -> list[list[int]]:
    """Rows of each batch: in the order given, or sorted by length (longest first) before they are cut."""
    rows = list(range(len(checked_lengths(lengths))))
    if by_length:
        rows.sort(key=lambda row: -lengths[row])
    return [rows[i:i + batch_size] for i in range(0, len(rows), count("batch_size", batch_size))]


def square(ax: Axes, x: float, y: float, size: float, text: str, real: bool) -> None:
    """A cell of the batch, upper left corner (x, y): filled where the step is real, a thin outline where it is padding."""
    ax.add_patch(Rectangle((x, y), size, size, facecolor=REAL if real else "none", edgecolor=PAPER if real else COLOURS["grey"],
                           linewidth=0.8 if real else 0.5))
    ax.text(x + size / 2, y + size / 2, text, ha="center", va="center_baseline", fontsize=min(10, 0.72 * size),
            color=PAPER if real else COLOURS["grey"])


def draw_batches(lengths: Sequence[int], *, batch_size: int, by_length: bool = False, steps: int | None = None) -> Figure:
    """Batches as they are padded, their mask, and as they are packed with their `batch_sizes`.

    Parameters
    ----------
    lengths : sequence of int
        One to 26 sequences, named A, B, C and so on.
    steps : int, optional
        Columns to leave room for; the longest length where it is not given.
    """
    batches = in_batches(lengths, batch_size, by_length)
    steps = max(lengths) if steps is None else steps
    if len(lengths) > 26 or steps < max(lengths):
        raise ValueError(f"lengths is {list(lengths)} and steps {steps}; at most 26 sequences of at most `steps` steps")
    size = (POINTS - LEFT - BETWEEN - 4) / (2 * steps)
    second = LEFT + steps * size + BETWEEN
    top, packed = HEAD, 2 * HEAD + len(lengths) * size + (len(batches) - 1) * GAP + 8
    height = packed + (len(lengths) + len(batches)) * size + (len(batches) - 1) * GAP + 4
    fig, ax = new_figure(height=height / 72)
    ax.set(xlim=(0, POINTS), ylim=(height, 0), aspect="equal")
    ax.axis("off")
    for x, y, text in ((LEFT, top, "padded"), (second, top, "mask"), (LEFT, packed, "packed, batch_sizes below")):
        ax.text(x, y - 5, text, fontsize=10, va="baseline")
    for number, rows in enumerate(batches):
        _padded_rows(ax, lengths, rows, top + number * GAP + size * sum(map(len, batches[:number])), size, second)
        _packed_rows(ax, lengths, rows, packed + number * (GAP + size) + size * sum(map(len, batches[:number])), size)
    share = wasted_share([[lengths[row] for row in rows] for rows in batches])
    real = sum(lengths)
    for line, text in enumerate((f"real steps: {real}", f"computed if padded: {round(real / (1 - share))}", f"wasted: {share:.0%}")):
        ax.text(second, packed + 10 + 14 * line, text, fontsize=10, va="center")
    return fig


def _padded_rows(ax: Axes, lengths: Sequence[int], rows: list[int], y: float, size: float, second: float) -> None:
    """One batch, padded to its longest row, and its mask beside it."""
    for i, row in enumerate(rows):
        name = chr(ord("A") + row)
        ax.text(LEFT - 6, y + (i + 0.5) * size, name, fontsize=10, ha="center", va="center_baseline")
        for t in range(max(lengths[r] for r in rows)):
            real = t < lengths[row]
            square(ax, LEFT + t * size, y + i * size, size, name if real else "0", real)
            square(ax, second + t * size, y + i * size, size, "1" if real else "0", real)


def _packed_rows(ax: Axes, lengths: Sequence[int], rows: list[int], y: float, size: float) -> None:
    """One batch as it is packed: a column holds the sequences that still run, the longest on top, their number below."""
    ordered = sorted(rows, key=lambda row: -lengths[row])
    for t, still in enumerate(running([lengths[row] for row in rows]).tolist()):
        for i, row in enumerate(ordered[:still]):
            square(ax, LEFT + t * size, y + i * size, size, chr(ord("A") + row), True)
        ax.text(LEFT + (t + 0.5) * size, y + (len(rows) + 0.5) * size, str(still), fontsize=min(10, 0.72 * size),
                ha="center", va="center_baseline")


def draw_last_states(length: int = 3, steps: int = 5) -> Figure:
    """One row of a packed batch through a bidirectional layer: where each direction ends, and what the last column holds."""
    if not 1 < length < steps:
        raise ValueError(f"length is {length} and steps {steps}; length must be above 1 and below steps")
    ahead, behind, gap = COLOURS["gru"], COLOURS["rnn"], 2.0
    fig, ax = new_figure(height=2.55)
    blank(ax, steps * gap + 0.7, 5.6)
    for t in range(1, steps + 1):
        x, real = gap * t - 0.6, t <= length
        for y, name, colour, last in ((3.5, "→", ahead, t == length), (2.1, "←", behind, t == 1)):
            layer_box(ax, x, y, name if real else "0", colour if real else COLOURS["grey"], 0.95, 0.75, filled=last)
        ax.text(x, 0.75, rf"$\mathbf{{x}}_{t}$" if real else "pad", ha="center", va="center",
                color=INK if real else COLOURS["grey"])
        if t < length:
            wire(ax, (x + 0.48, 3.5), (x + gap - 0.52, 3.5), colour=ahead)
            wire(ax, (x + gap - 0.48, 2.1), (x + 0.52, 2.1), colour=behind)
        if real:
            arrow(ax, (x, 1.1), (x, 1.68))
    for x, y, text, colour in ((gap * length - 0.6, 4.45, "forward half\nof h_n", ahead), (gap - 0.6, 4.45, "backward half\nof h_n", behind),
                               (gap * steps - 0.6, 4.45, "last column:\nnothing here", COLOURS["grey"])):
        ax.text(x, y, text, ha="center", va="bottom", color=colour, fontsize=9)
    ax.plot([gap - 0.6] * 2, [2.5, 3.1], color=behind, linewidth=0.8, linestyle=":", zorder=0)
    return fig


def draw_streams(rows: int = 3, chunks: int = 3) -> Figure:
    """Streams cut into chunks: row i of every chunk continues row i, and only the state crosses a boundary."""
    if rows < 1 or chunks < 2:
        raise ValueError(f"rows is {rows} and chunks {chunks}; rows must be at least 1, chunks at least 2")
    wide, gap, left = 2.7, 1.1, 2.0
    fig, ax = new_figure(height=0.75 + 0.42 * rows)
    blank(ax, left + chunks * (wide + gap), rows * 1.1 + 1.9)
    for i in range(rows):
        y = rows * 1.1 - i * 1.1
        ax.text(left - 0.2, y, f"row {i + 1}:\nstream {i + 1}", ha="right", va="center", fontsize=9)
        for k in range(chunks):
            x = left + k * (wide + gap)
            ax.add_patch(Rectangle((x, y - 0.38), wide, 0.76, facecolor=PAPER, edgecolor=REAL, linewidth=1.4))
            ax.text(x + wide / 2, y, f"part {k + 1}", ha="center", va="center_baseline", fontsize=9)
            if k + 1 < chunks:
                arrow(ax, (x + wide + 0.05, y), (x + wide + gap - 0.05, y), colour=COLOURS["rnn"])
    for k in range(chunks):
        x = left + k * (wide + gap)
        ax.text(x + wide / 2, rows * 1.1 + 0.95, f"batch {k + 1}", ha="center", va="center", fontsize=9)
        if k + 1 < chunks:
            ax.plot([x + wide + gap / 2] * 2, [0.35, rows * 1.1 + 0.75], color=COLOURS["grey"], linewidth=1, linestyle="--", zorder=0)
            ax.text(x + wide + gap / 2, rows * 1.1 + 1.55, "detach", ha="center", va="center", fontsize=9, color=COLOURS["grey"])
    return fig
