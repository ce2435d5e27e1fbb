"""The graphs that are drawn: what they depend on and the length of the way, against the formulas."""

from itertools import pairwise

import pytest
from browser import explorer_page

from lessonlib.complexity import path_length, receptive_field
from lessonlib.drawings_paths import draw_dependencies, draw_reach, parents, ways
from lessonlib.explorers import explorer_html
from lessonlib.figures import COLOURS


@pytest.mark.parametrize("kernel", [2, 3])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("kind", ["convolution", "dilated"])
def test_convolutions_see_their_receptive_field(kind, layers, kernel):
    edges, way = ways(kind, layers, 40, kernel)
    dilations = [kernel**i if kind == "dilated" else 1 for i in range(layers)]
    seen = [p for (row, p), _ in edges if row == 0]
    assert min(seen) == 40 - receptive_field(kernel, dilations) == way[0][1] and len(way) == layers + 1


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_ways_have_the_length_of_the_formula(layers):
    _, way = ways("recurrence", layers, 9)
    assert way[0] == (0, 0) and way[-1] == (layers, 8) and len(way) - 1 == path_length("recurrence", 9) + layers
    _, way = ways("attention", 1, 9)
    assert len(way) - 1 == path_length("attention", 9)


@pytest.mark.parametrize("kind", ["recurrence", "convolution", "dilated", "attention"])
def test_a_way_follows_edges_and_no_edge_comes_from_the_future(kind):
    edges, way = ways(kind, 3, 8)
    assert set(pairwise(way)) <= edges and all(a[1] <= b[1] and a[0] <= b[0] for a, b in edges)


def test_drawings_and_bad_input():
    assert draw_dependencies(8) and draw_reach("dilated", 3, 16)
    for call, name in ((lambda: parents((1, 1), "tree", [1], 2), "kind"), (lambda: ways("dilated", 0, 4), "layers"), (lambda: ways("attention", 1, 0), "steps")):
        with pytest.raises(ValueError, match=name):
            call()


# In a browser -------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Two receptive-field explorers, opened from the disk in a browser without a network."""
    data = {"positions": 16, "layers": 5, "start": {"kind": "dilated", "kernel": 2, "layers": 3, "output": 16},
            "colours": {name: COLOURS[name] for name in ("gru", "lstm", "attention", "grey")}}
    element = explorer_html("receptive-field", data, draw_reach("dilated", 3, 16), "A graph over 16 positions, of which the last output sees 8.",
                            "Explorer", controls="13.75rem")
    with explorer_page(element + element, "receptive-field", tmp_path_factory.mktemp("explorer")) as opened:
        yield opened


def test_nothing_moves_and_nothing_is_cut_off(page):
    assert page.faults == []
    assert abs(page.evaluate("document.getElementById('after').offsetTop - window.before")) <= 2
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_every_control_has_a_name_and_ids_are_unique(page):
    controls = page.locator("select, input").all()
    assert len(controls) == 8 and all(page.locator(f'label[for="{c.get_attribute("id")}"]').inner_text().strip() for c in controls)
    ids = page.eval_on_selector_all("[id]", "nodes => nodes.map(node => node.id)")
    assert len(ids) == len(set(ids))


def test_the_reading_follows_the_keyboard_and_agrees_with_the_formulas(page):
    page.reload()
    reading = page.locator(".explorer-reading").first
    assert reading.inner_text() == ("Through 3 convolution layers the output at position 16 sees 8 positions, 9 to 16; what came before 9 cannot "
                                    "reach it. From input 9 the shortest way takes 3 operations.")
    page.locator("input[type=range]").first.focus()
    page.keyboard.press("ArrowRight")
    assert "sees 16 positions, 1 to 16. From input 1 the shortest way takes 4 operations." in reading.inner_text()
    page.locator("select").first.select_option("recurrence")
    assert f"takes {path_length('recurrence', 16) + 4} operations" in reading.inner_text()
    page.locator("select").first.select_option("convolution")
    page.locator("select").nth(1).select_option("3")
    assert f"sees {receptive_field(3, [1] * 4)} positions" in reading.inner_text()
    page.locator("select").first.select_option("attention")
    page.locator("input[type=range]").nth(1).focus()
    page.keyboard.press("Home")
    assert "at position 1 sees 1 position, 1. From" in reading.inner_text()
    assert page.locator("svg title").first.text_content().endswith(reading.inner_text())
