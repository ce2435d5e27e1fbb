"""Half-lives and time constants against their definitions and sums; the explorer that reads them out."""

import json
import math

import pytest
from browser import explorer_page
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonlib import time_constants as K
from lessonlib.explorers import explorer_html
from lessonlib.figures import new_figure


@settings(deadline=None, max_examples=60)
@given(st.floats(-5, 15))
def test_half_life_and_time_constants_follow_their_definitions(bias):
    keep = K.sigmoid(bias)
    assert keep ** K.half_life(keep) == pytest.approx(0.5, rel=1e-9)
    assert keep ** K.decay_constant(keep) == pytest.approx(math.exp(-1), rel=1e-9)
    assert K.time_constant(keep) == pytest.approx(1 + math.exp(bias), rel=1e-8)
    assert K.half_life(keep) == pytest.approx(math.log(2) * K.decay_constant(keep), rel=1e-12)


def test_time_constant_is_the_sum_of_what_is_left():
    assert K.time_constant(0.9) == pytest.approx(sum(0.9**n for n in range(2000)), rel=1e-12)
    assert K.half_life([0.5, 0.25]) == pytest.approx([1.0, 0.5])


@settings(deadline=None, max_examples=30)
@given(st.floats(3, 1e5))
def test_chrono_bias_sets_the_time_constant_and_not_the_half_life(span):
    keep = K.sigmoid(K.chrono_bias(span))
    assert K.time_constant(keep) == pytest.approx(span, rel=1e-6)
    assert K.half_life(keep) < 0.7 * span


@pytest.mark.parametrize("call, name", [
    (lambda: K.half_life(1.0), "keep"), (lambda: K.time_constant(0.0), "keep"),
    (lambda: K.sigmoid(math.nan), "a"), (lambda: K.chrono_bias(1), "span")])
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        call()


# The explorer of the forget bias, in a browser ----------------------------------------------------------------------

LAGS = [0, 20, 100, 200]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Two forget-bias explorers, opened from the disk in a browser without a network."""
    figure, axes = new_figure(height=3.0)
    axes.plot([0, 1])
    curves = [[[-0.1 * n for n in LAGS], [-0.2 * n for n in LAGS], [-0.05 * n for n in LAGS]], [[0.0] * 4, [-0.2] * 4, [0.2] * 4]]
    data = {"biases": [0, 5], "lags": LAGS, "networks": 3, "low": -12, "high": 2, "colour": "#00639c", "start": 0,
            "curves": curves, "reaches": [30, 200]}
    element = explorer_html("forget-bias", data, figure, "A line that falls with the lag, at a forget bias of 0.", "Explorer",
                            digits=4, controls="17.2rem")
    assert json.loads(element.split('json">')[1].split("</script>")[0])["reaches"] == [30, 200]
    with explorer_page(element + element, "forget-bias", tmp_path_factory.mktemp("explorer")) as opened:
        yield opened


def test_explorer_fits_a_phone_names_its_control_and_moves_nothing(page):
    assert page.faults == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert abs(page.evaluate("document.getElementById('after').offsetTop - window.before")) <= 2
    ids = page.eval_on_selector_all("[id]", "nodes => nodes.map(node => node.id)")
    assert len(ids) == len(set(ids)) and page.locator("input[type=range]").count() == 2
    for control in page.locator("input").all():
        assert "Forget bias" in page.locator(f'label[for="{control.get_attribute("id")}"]').inner_text()


def test_explorer_reads_out_what_the_library_computes(page):
    reading, cells = page.locator(".explorer-reading").first, page.locator("table").first.locator("td")
    assert "starts at 0.500: half-life 1.0 steps, time constant 2.0 steps" in reading.inner_text()
    assert "the gate alone reaches back 9 steps, the LSTM's gradient 30 steps" in reading.inner_text()
    assert cells.all_inner_texts() == ["9.5e-7", "7.9e-31", "9.3e-302", "0.01", "1.0e-10", "not run"]
    page.locator("input").first.focus()
    page.keyboard.press("ArrowRight")
    keep = K.sigmoid(5.0)
    assert f"half-life {K.half_life(keep):.0f} steps, time constant {K.time_constant(keep):.0f} steps" in reading.inner_text()
    assert "all 200 steps" in reading.inner_text()
    assert float(cells.nth(1).inner_text()) == pytest.approx(keep**100, rel=0.02)
    assert page.locator("input").first.get_attribute("aria-valuetext") == "forget bias 5"
    assert page.locator("svg title").first.text_content().endswith(reading.inner_text())
    assert "0.500" in page.locator(".explorer-reading").nth(1).inner_text()  # the second explorer stays as it was
