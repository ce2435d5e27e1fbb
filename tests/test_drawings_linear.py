"""Drawings of a mode and of a scan say what their numbers are, and refuse what they cannot draw; the explorer works."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from browser import explorer_page

from lessonlib.drawings_linear import draw_mode, draw_scan
from lessonlib.explorers import explorer_html
from lessonlib.figures import new_figure

ALT = "Two impulse responses of one mode over a hundred steps."


def test_the_kernel_drawn_is_the_kernel():
    fig = draw_mode(0.5, 2, 3, lags=6)
    points = fig.axes[1].lines[0].get_ydata()
    assert np.allclose(points, [6 * 0.5**k for k in range(7)])
    plt.close(fig)


@pytest.mark.parametrize("steps", [2, 5, 8])
def test_every_box_of_the_scan_covers_what_it_says(steps):
    fig = draw_scan(steps)
    boxes = [text.get_text() for text in fig.axes[0].texts if text.get_bbox_patch()]
    rounds = len(boxes) // steps - 1
    covered = [{t} for t in range(steps)]
    for row in range(1, rounds + 1):
        reach = 2 ** (row - 1)
        covered = [covered[t] | covered[t - reach] if t >= reach else covered[t] for t in range(steps)]
        for t, text in enumerate(boxes[row * steps:(row + 1) * steps]):
            low, *high = (int(part) for part in text.split("–"))
            assert covered[t] == set(range(low - 1, high[0] if high else low))
    assert all(min(found) == 0 and max(found) == t for t, found in enumerate(covered))
    plt.close(fig)


def test_too_many_steps_are_refused():
    for steps in (1, 9):
        with pytest.raises(ValueError, match="steps is"):
            draw_scan(steps)
    with pytest.raises(ValueError, match="lags"):
        draw_mode(0.5, 1, 1, lags=0)


def element():
    figure, axes = new_figure()
    axes.plot([0, 1])
    data = {"moduli": [0, 0.5, 0.9, 1, 1.01], "phases": [0, 18, 90, 180], "start": [2, 1], "last": 100, "colour": "#7a5c00"}
    return explorer_html("impulse-response", data, figure, ALT, "Explorer", controls="clamp(14.5rem, 24rem - 24vw, 18rem)")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with two explorers and the script, opened from the disk in a browser without a network."""
    with explorer_page(element() + element(), "impulse-response", tmp_path_factory.mktemp("explorer")) as opened:
        yield opened


def reading(page):
    return page.locator(".explorer-reading").first.inner_text()


def set_to(page, modulus, phase):
    for index, value in enumerate((modulus, phase)):
        slider = page.locator("input[type=range]").nth(index)
        slider.focus()
        page.keyboard.press("Home")
        for _ in range(value):
            page.keyboard.press("ArrowRight")


def test_nothing_moves_and_nothing_fails_when_the_script_adds_the_controls(page):
    assert page.faults == []
    assert abs(page.evaluate("document.getElementById('after').offsetTop - window.before")) <= 2
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_every_control_has_a_name_and_ids_are_unique(page):
    assert page.locator("input").count() == 4
    for control in page.locator("input").all():
        assert page.locator(f'label[for="{control.get_attribute("id")}"]').inner_text().strip()
    ids = page.eval_on_selector_all("[id]", "nodes => nodes.map(node => node.id)")
    assert len(ids) == len(set(ids))


def test_the_numbers_are_those_of_the_formulas(page):
    page.reload()
    assert reading(page) == ("Modulus 0.9: half-life 6.6 steps. Phase 18°: one turn in 20.0 steps. "
                             "To keep unit variance the input is scaled by 0.44.")
    cells = [cell.inner_text() for cell in page.locator("table").first.locator("td").all()]
    assert [float(text) for text in cells] == pytest.approx([0.9**10, 0.9**100, 0.9**1000], rel=0.06)
    assert page.locator("svg title").first.text_content().endswith(reading(page))


@pytest.mark.parametrize("modulus, phase, says", [
    (3, 0, "on the unit circle, nothing is ever lost. Phase 0°: no oscillation. No scale"),
    (4, 3, "outside the unit circle, it doubles every 69.7 steps. Phase 180°: the sign changes at every step."),
    (0, 2, "Modulus 0: half-life"), (1, 2, "half-life 1.0 steps. Phase 90°: one turn in 4.0 steps.")])
def test_the_keyboard_reaches_every_setting_and_no_number_is_broken(page, modulus, phase, says):
    set_to(page, modulus, phase)
    text = page.locator("body").inner_text()
    assert says in reading(page) and not re.search("NaN|Infinity|undefined", text)
    assert "NaN" not in page.locator("svg").first.inner_html()
    assert page.faults == []
    assert "0.9" in page.locator(".explorer-reading").nth(1).inner_text()            # the second explorer stays as it was
