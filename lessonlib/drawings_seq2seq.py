"""Structure drawings for encoders and decoders: teacher forcing beside free running, and the tree of a beam search."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from lessonlib.beam_search import BeamStep
from lessonlib.drawings_gated import layer_box, wire
from lessonlib.drawings_recurrent import arrow, blank
from lessonlib.figures import COLOURS, INK, PAPER, WIDTH, new_figure
from lessonlib.prefix_model import PrefixModel

POINTS = 72 * WIDTH  # width of a figure in points, the unit of the tree
ROOT, COLUMN, BOX, ROW, HEAD = 26, 76, 64, 19, 20  # of the tree: the script of the stepper has the same numbers
ENCODER, DECODER, WRONG = COLOURS["lstm"], COLOURS["gru"], COLOURS["rnn"]


def _chain(ax: Axes, y: float, source: str, read: list[str], said: list[str], right: list[bool], fed_back: bool) -> None:
    """One row of the drawing: the encoder over `source`, then the decoder with what it reads and says."""
    gap, first = 1.32, 0.75
    for i, symbol in enumerate(source):
        x = first + i * gap
        layer_box(ax, x, y, "", ENCODER, 0.8, 0.7)
        ax.text(x, y - 1.25, symbol, ha="center", va="center")
        arrow(ax, (x, y - 0.98), (x, y - 0.37))
        wire(ax, (x + 0.4, y), (x + gap - 0.42, y), colour=ENCODER)
    for t, (token, output, good) in enumerate(zip(read, said, right)):
        x = first + (len(source) + t) * gap
        layer_box(ax, x, y, "", DECODER, 0.8, 0.7)
        wrong_input = fed_back and t and not right[t - 1]
        ax.text(x, y - 1.25, token, ha="center", va="center", color=WRONG if wrong_input else INK, fontsize=9 if len(token) > 1 else 10)
        arrow(ax, (x, y - 0.98), (x, y - 0.37))
        ax.text(x, y + 1.2, output, ha="center", va="center", color=INK if good else WRONG, fontsize=9 if len(output) > 1 else 10)
        arrow(ax, (x, y + 0.36), (x, y + 0.95))
        if t + 1 < len(read):
            wire(ax, (x + 0.4, y), (x + gap - 0.42, y), colour=DECODER)
            if fed_back:
                wire(ax, (x + 0.25, y + 1.2), (x + gap / 2, y + 1.2), (x + gap / 2, y - 1.25), (x + gap - 0.22, y - 1.25),
                     colour=INK if good else WRONG)


def draw_teacher_forcing() -> Figure:
    """Training above, where the decoder reads the true tokens; use below, where it reads its own, the wrong one too."""
    fig, ax = new_figure(height=3.4)
    blank(ax, 9.9, 7.3)
    _chain(ax, 5.35, "471", ["BOS", "1", "7", "4"], ["1", "9", "4", "EOS"], [True, False, True, True], False)
    _chain(ax, 1.6, "471", ["BOS", "1", "9", "3"], ["1", "9", "3", "EOS"], [True, False, False, True], True)
    for x, text, colour in ((2.07, "encoder", ENCODER), (6.7, "decoder", DECODER)):
        ax.text(x, 3.6, text, ha="center", va="center", color=colour, fontsize=9)
    for y, text in ((6.95, "teacher forcing: reads the true token"), (3.2, "free running: reads its own token")):
        ax.text(0.35, y, text, va="center", fontsize=10)
    return fig


def tree_rows(model: PrefixModel) -> dict[str, float]:
    """The row of every beginning and output in the tree, from 0: leaves one below the other, a parent amid its children."""
    rows: dict[str, float] = {}
    leaves = 0

    def place(prefix: str) -> float:
        nonlocal leaves
        if prefix not in model.table:  # only the end can follow: on the same row
            rows[prefix] = rows[prefix + model.symbols[-1]] = leaves
            leaves += 1
        else:
            own = [place(prefix + letter) for letter in model.symbols[:-1]]
            rows[prefix + model.symbols[-1]] = leaves
            leaves += 1
            rows[prefix] = sum(own) / len(own)
        return rows[prefix]

    place("")
    return rows


def statuses(model: PrefixModel, trace: list[BeamStep], row: int = 0) -> dict[str, str]:
    """What a search did with each text that it looked at: `kept`, `aside` (kept, and ended) or `dropped`."""
    found, live = {"": "kept"}, [""]
    for step in trace:
        grown = [p + s for p in live for s in model.symbols if model.probability(p + s) > 0]
        found |= dict.fromkeys(grown, "dropped")
        live = []
        for tokens, ended in zip(step.tokens[row], step.ended[row]):
            text = model.text(tokens)
            if found.get(text) == "dropped":  # an empty slot of the beam holds a text that was not looked at
                found[text] = "aside" if ended else "kept"
                live += [] if ended else [text]
    return found


def draw_beam_tree(model: PrefixModel, trace: list[BeamStep]) -> Figure:
    """The tree of all outputs, with what a beam search kept (filled), set aside (framed) and dropped (grey)."""
    rows, found = tree_rows(model), statuses(model, trace)
    height = HEAD + ROW * (1 + max(rows.values())) + 4
    fig, ax = new_figure(height=height / 72)
    fig.set_layout_engine("none")
    ax.set_position([0, 0, 1, 1])
    ax.set(xlim=(0, POINTS), ylim=(height, 0))
    ax.axis("off")
    def y(text: str) -> float:
        return HEAD + ROW * (rows[text] + 0.5)
    def x(text: str) -> float:
        return ROOT + COLUMN * (len(text) - 1) if text else 0
    for t in range(1, model.steps + 1):
        ax.text(x("a" * t) + BOX / 2, HEAD / 2, f"step {t}", ha="center", va="center", fontsize=9)
    for text in rows:
        if text:
            parent, seen = text[:-1], found.get(text)
            left = x(parent) + (BOX if parent else 14)
            ax.plot([left, x(text)], [y(parent), y(text)], color=INK if seen in ("kept", "aside") else COLOURS["grey"],
                    linewidth=1.3 if seen in ("kept", "aside") else 0.5, zorder=1)
    ax.plot(7, y(""), "o", color=DECODER, markersize=7)
    for text in rows:
        if text:
            _tree_box(ax, x(text), y(text), text, model.probability(text), found.get(text))
    return fig


def _tree_box(ax: Axes, x: float, y: float, text: str, p: float, status: str | None) -> None:
    """A beginning with its probability: filled where kept, thick frame where set aside, thin and grey elsewhere."""
    edge = {"kept": DECODER, "aside": ENCODER}.get(status, COLOURS["grey"])
    ax.add_patch(FancyBboxPatch((x, y - ROW / 2 + 2), BOX, ROW - 4, boxstyle="round,pad=0,rounding_size=3", edgecolor=edge,
                                facecolor=DECODER if status == "kept" else PAPER, linewidth=2.2 if status == "aside" else 0.8, zorder=2))
    colour = {"kept": PAPER, "aside": INK}.get(status, COLOURS["grey"])
    if status:
        ax.text(x + 4, y, text, va="center_baseline", fontsize=9, color=colour, zorder=3, weight="bold")
        ax.text(x + BOX - 4, y, f"{p:.3f}", ha="right", va="center_baseline", fontsize=9, color=colour, zorder=3)
