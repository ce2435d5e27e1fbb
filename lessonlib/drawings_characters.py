"""A drawing of one line of the maintenance log with the rules that connect its fields."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import Arc

from lessonlib.drawings_recurrent import blank
from lessonlib.figures import COLOURS, INK, new_figure
from lessonlib.maintenance_log import BY_NAME, Line, broken_rules, distances


def draw_rules(line: Line) -> Figure:
    """The characters of a line in columns; arcs lead from what decides a field to the field, with the distance.

    Raises
    ------
    ValueError
        If the line breaks a rule: there would be nothing to draw.
    """
    if line.quantity not in BY_NAME or broken_rules(line):
        raise ValueError(f"line is {str(line)!r}; it must keep the three rules")
    text = str(line)[:-1]
    fig, ax = new_figure(height=1.9)
    blank(ax, len(text) + 1, 12)
    far, near = distances(line)
    value, closing = text.index(f"{line.value:.1f}"), text.rindex("/") + 1
    unit = value + len(f"{line.value:.1f}") + 1
    rules = ((text.index(line.quantity) + 2, unit + 1, "", 2.2), (value + 1, value + near + 1, f"{near} steps", 3.2),
             (1, closing + 1, f"{far} steps", 7.2))
    for k, character in enumerate(text):
        determined = k >= closing - 1 or value + near <= k or unit <= k < unit + len(line.unit)
        ax.text(k + 1, 2, character, ha="center", va="center", fontfamily="monospace", fontsize=11,
                color=COLOURS["rnn"] if determined else INK)
    for start, end, label, height in rules:
        left, right = start + 0.5, end + 0.5
        ax.add_patch(Arc(((left + right) / 2, 3.2), right - left, 2 * height, theta1=0, theta2=180, color=COLOURS["grey"]))
        ax.text((left + right) / 2, 3.2 + height + 0.2, label, ha="center", va="bottom", fontsize=9.5)
    return fig
