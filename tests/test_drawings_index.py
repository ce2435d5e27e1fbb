"""The drawing of the front matter: what it shows, and that nothing in it overlaps or leaves the frame."""

from itertools import combinations

import matplotlib.pyplot as plt
import pytest
from matplotlib.patches import FancyBboxPatch

from lessonlib.drawings_index import box, number_path
from lessonlib.figures import new_figure


@pytest.fixture
def drawn():
    fig = number_path()
    fig.canvas.draw()
    yield fig
    plt.close(fig)


def test_every_station_is_named(drawn):
    texts = " ".join(text.get_text() for text in drawn.axes[0].texts)
    for station in ("page", "run", "numbers", "recorded", "compare", "site", "build stops", "within", "outside", "accept"):
        assert station in texts


def test_texts_and_boxes_keep_apart_and_inside(drawn):
    ax = drawn.axes[0]
    frame = drawn.bbox
    texts = [text.get_window_extent() for text in ax.texts if text.get_text()]
    boxes = [patch.get_window_extent() for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    assert len(boxes) == 7
    for extents in (texts, boxes):
        assert not any(a.overlaps(b) for a, b in combinations(extents, 2))
        assert all(frame.x0 <= e.x0 and e.x1 <= frame.x1 and frame.y0 <= e.y0 and e.y1 <= frame.y1 for e in extents)
    for text in texts:
        for other in (b for b in boxes if b.overlaps(text)):
            assert other.x0 < text.x0 and text.x1 < other.x1 and other.y0 < text.y0 and text.y1 < other.y1


def test_a_box_without_width_is_refused():
    fig, ax = new_figure()
    with pytest.raises(ValueError, match="width is 0; it must be positive"):
        box(ax, 1, 1, "nothing", width=0)
    plt.close(fig)
