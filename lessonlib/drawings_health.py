"""A drawing of where to look first when a sequence model misbehaves."""

from __future__ import annotations

from matplotlib.figure import Figure

from lessonlib.drawings_index import arrow, box
from lessonlib.figures import COLOURS, new_figure

# Questions in the order in which to ask them, with what to suspect where the answer is yes.
QUESTIONS = [
    ("Is the loss NaN,\nor does it jump?", "gradient:\nlog its norm, clip"),
    ("Is the first loss\nnot the predicted one?", "loss or head:\nmask, scale"),
    ("Does the answer move\nin other company?", "padding,\ncarried state"),
    ("Is it too good\nto be true?", "leak: future,\nsplit, scaling"),
    ("Does a baseline\nbeat it?", "range, horizon,\nforget bias"),
]


def draw_triage() -> Figure:
    """Five questions from top to bottom, cheapest first, each with its suspects at the right."""
    fig, ax = new_figure(height=4.6)
    top = 1.75 * len(QUESTIONS)
    ax.set(xlim=(0, 10), ylim=(0, top + 0.1))
    ax.axis("off")
    for row, (question, suspects) in enumerate(QUESTIONS):
        y = top - 0.85 - 1.75 * row
        box(ax, 2.5, y, question, width=4.8)
        box(ax, 8.0, y, suspects, width=3.8, colour=COLOURS["rnn"])
        arrow(ax, (4.95, y), (6.05, y), colour=COLOURS["rnn"])
        ax.text(5.5, y + 0.12, "yes", ha="center", va="bottom", color=COLOURS["rnn"], fontsize=9)
        if row + 1 < len(QUESTIONS):
            arrow(ax, (2.5, y - 0.6), (2.5, y - 1.15))
            ax.text(2.7, y - 0.87, "no", va="center", fontsize=9)
    return fig
