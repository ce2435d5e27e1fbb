"""Structure drawings for forecasting: a window with its horizon and known inputs, and the folds of a walk-forward evaluation."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lessonlib.drawings_recurrent import arrow
from lessonlib.figures import COLOURS, INK, PAPER, WIDTH, new_figure
from lessonlib.series import whole
from lessonlib.windows import Fold

POINTS = 72 * WIDTH  # width of a figure in points, the unit of the drawings
LEFT = 74
PAST, AHEAD, KNOWN = COLOURS["lstm"], COLOURS["rnn"], COLOURS["gru"]


def canvas(height: float) -> tuple[Figure, Axes]:
    """A figure without axes, `height` points high, whose unit is a point and whose y runs downwards."""
    fig, ax = new_figure(height=height / 72)
    ax.set(xlim=(0, POINTS), ylim=(height, 0), aspect="equal")
    ax.axis("off")
    return fig, ax


def bar(ax: Axes, x: float, y: float, width: float, height: float, colour: str, *, filled: bool) -> None:
    """A bar with its upper left corner at (x, y), filled or in outline."""
    ax.add_patch(Rectangle((x, y), width, height, facecolor=colour if filled else PAPER, edgecolor=PAPER if filled else colour,
                           linewidth=0.8 if filled else 1.2))


def draw_window(window: int = 6, horizon: int = 3, samples: int = 12) -> Figure:
    """One window of a series with two channels and one known input: what the model reads, and what it forecasts.

    Parameters
    ----------
    window, horizon : int
        W and h; W + h at most `samples`.
    samples : int
        Columns of the drawing, 5 to 16.
    """
    whole("samples", samples, 5, 16)
    whole("window", window, 2, samples - 2)
    whole("horizon", horizon, 1, samples - window - 1, "window, horizon and one sample before them must fit into samples")
    size, first, rows = (POINTS - LEFT - 4) / samples, 1, ("forecast\nchannel", "other\nchannel", "known\ninput")
    fig, ax = canvas(4.6 * size + 62)
    for r, name in enumerate(rows):
        y = 26 + 1.45 * size * r
        ax.text(LEFT - 8, y + size / 2, name, ha="right", va="center", fontsize=9)
        for s in range(samples):
            read = first <= s < first + window
            shifted = r == 2 and first + 1 <= s <= first + window
            ahead = first + window <= s < first + window + horizon
            colour = KNOWN if r == 2 else AHEAD if ahead and r == 0 else PAST if read else COLOURS["grey"]
            filled = shifted if r == 2 else read
            if r == 1 and s >= first + window:
                continue
            bar(ax, LEFT + s * size, y, size, size, colour, filled=filled)
    now, y = LEFT + (first + window) * size, 26 + 1.45 * size * 2 + size
    ax.plot([now, now], [14, y + 6], color=INK, linewidth=1.2, linestyle=(0, (3, 2)))
    ax.text(now, 10, "now", ha="center", va="bottom", fontsize=9)
    for start, steps, text, colour in ((first, window, f"window, W = {window}", PAST), (first + window, horizon, f"horizon, h = {horizon}", AHEAD)):
        a, b = LEFT + start * size + 2, LEFT + (start + steps) * size - 2
        ax.plot([a, a, b, b], [y + 12, y + 16, y + 16, y + 12], color=colour, linewidth=1.2)
        ax.text((a + b) / 2, y + 21, text, ha="center", va="top", fontsize=9, color=colour)
    return fig


def draw_folds(folds: Sequence[Fold], samples: int) -> Figure:
    """Folds one below another on the axis of time: training filled, the gap empty, the scored block in outline.

    Parameters
    ----------
    folds : sequence of Fold
        One to 8.
    samples : int
        The length of the series.
    """
    if not 1 <= len(folds) <= 8 or any(fold.test.stop > samples for fold in folds):
        raise ValueError(f"folds has {len(folds)} entries and samples is {samples}; give 1 to 8 folds that end within the samples")
    left, pitch, thick = 46, 24, 14
    scale = (POINTS - left - 8) / samples
    height = 26 + pitch * len(folds) + 30
    fig, ax = canvas(height)
    for i, fold in enumerate(folds):
        y = 24 + pitch * i
        ax.text(left - 8, y + thick / 2, f"fold {i + 1}", ha="right", va="center", fontsize=9)
        ax.plot([left, left + samples * scale], [y + thick / 2] * 2, color=COLOURS["grey"], linewidth=0.8, zorder=0)
        for part, colour, filled in ((fold.train, PAST, True), (fold.test, AHEAD, False)):
            bar(ax, left + part.start * scale, y, (part.stop - part.start) * scale, thick, colour, filled=filled)
    one = folds[0]
    for part, text, colour in ((one.train, "train", PAST), (one.test, "score", AHEAD)):
        ax.text(left + (part.start + part.stop) / 2 * scale, 18, text, ha="center", va="bottom", fontsize=9, color=colour)
    base = 24 + pitch * len(folds) + 4
    arrow(ax, (left, base), (left + samples * scale, base))
    ax.text(left + samples * scale, base + 5, "time", ha="right", va="top", fontsize=9)
    gap = one.test.start - one.train.stop
    if gap:
        ax.text(left, base + 5, f"between them: a gap of {gap} samples", ha="left", va="top", fontsize=9)
    return fig
