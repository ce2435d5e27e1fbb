"""The drawing of the pipeline, and the threshold explorer in a browser against the arithmetic that it reads out."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from browser import explorer_page

from lessonlib.alarms import expected_per_day, gaussian_exceedance, precision
from lessonlib.drawings_monitoring import ROWS, draw_monitor, traces
from lessonlib.explorers import explorer_html
from lessonlib.figures import new_figure

BINS, START, BIN = 36, -60, 10


def test_every_fault_has_its_trace_and_its_detector():
    fig = draw_monitor()
    texts = [text.get_text() for text in fig.axes[0].texts]
    assert all(fault in texts and detector in texts for fault, detector in ROWS)
    fig.canvas.draw()
    (left, bottom), (right, top) = fig.bbox.min, fig.bbox.max
    for text in fig.axes[0].texts:
        box = text.get_window_extent()
        assert left <= box.x0 and box.x1 <= right and bottom <= box.y0 and box.y1 <= top, text.get_text()
    plt.close(fig)


def test_the_traces_show_what_their_names_say():
    spike, energy, frozen, offset, pair = traces(start=50)
    assert np.abs(spike).argmax() == 50 and energy[50:].std() > 1.5 * energy[:50].std() and np.ptp(frozen[50:]) == 0
    assert offset[50:52].mean() > 3 > offset[52:].mean() + 2
    assert (pair[:50, 0] == pair[:50, 1]).all() and abs(np.corrcoef(pair[50:].T)[0, 1]) < 0.4


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Two threshold explorers with two scores and two faults, opened from the disk in a browser without a network."""
    figure, axes = new_figure(height=2.6)
    axes.plot([0, 1])
    detectors = [{"name": "point test", "axis": "|r| / σ", "unit": "σ", "top": 12, "thresholds": [3, 4], "start": 1, "daily": [500.0, 20.0],
                  "expected": [expected_per_day(gaussian_exceedance(k)) for k in (3, 4)]},
                 {"name": "RMS", "axis": "RMS / σ", "unit": "σ", "top": 4, "thresholds": [1.5], "start": 0, "daily": [0.5], "expected": [-1]}]
    quiet = [1.0] * BINS
    spike = [*quiet[:6], 9.0, *quiet[7:]]
    faults = [{"name": "spike", "stop": 1, "traces": [spike, quiet], "found": [[20, 20], [0]], "delays": [[0, 0], [-1]], "firsts": [[0, 0], [-1]]},
              {"name": "drift", "stop": 240, "traces": [quiet, quiet], "found": [[0, 1], [15]], "delays": [[-1, 7.5], [300.0]], "firsts": [[-1, 8], [310]]}]
    data = {"faults": faults, "detectors": detectors, "start": START, "bin": BIN, "repeats": 20, "days": 30, "fault": 0, "colours": ["#00639c", "#b34700"]}
    element = explorer_html("threshold", data, figure, "A residual around a fault, with a threshold of 4 sigmas.", "Explorer", controls="21rem")
    with explorer_page(element + element, "threshold", tmp_path_factory.mktemp("explorer")) as opened:
        yield opened


def reading(page):
    return page.locator(".explorer-reading").first.inner_text()


def test_explorer_fits_a_phone_names_its_controls_and_moves_nothing(page):
    assert page.faults == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert abs(page.evaluate("document.getElementById('after').offsetTop - window.before")) <= 2
    ids = page.eval_on_selector_all("[id]", "nodes => nodes.map(node => node.id)")
    assert len(ids) == len(set(ids)) and page.locator("select, input").count() == 6
    for control in page.locator("select, input").all():
        assert page.locator(f'label[for="{control.get_attribute("id")}"]').inner_text().strip()


def test_explorer_reads_out_rates_delays_and_precision(page):
    page.reload()
    assert round(100 * precision(20, 1 / 30)) == 0
    assert reading(page) == ("20 false alarms a day in 30 normal days (independent Gaussian residuals: 5.5). Of 20 such faults 20 are found, after 0 s in the "
                             "median; here the first alarm comes after 0 s. With one fault a month, fewer than 1 of 100 alarms is true.")
    page.locator("input[type=range]").first.focus()
    page.keyboard.press("ArrowLeft")
    assert reading(page).startswith("500 false alarms a day in 30 normal days (independent Gaussian residuals: 233)")
    assert page.locator("input[type=range]").first.get_attribute("aria-valuetext") == "3 σ"
    assert page.locator("svg title").first.text_content().endswith(reading(page))
    assert page.locator(".explorer-reading").nth(1).inner_text().startswith("20 false")   # the second explorer stays as it was


def test_another_score_or_fault_brings_its_own_thresholds_and_counts(page):
    page.reload()
    page.locator("select").nth(1).select_option("1")
    assert page.locator("output").first.inner_text() == "1.5 σ"
    assert reading(page).startswith("0.5 false alarms a day in 30 normal days. Of 20 such faults 0 are found; here the first alarm comes not at all.")
    page.locator("select").first.select_option("1")
    assert "15 are found, after 5 min in the median; here the first alarm comes after 5 min." in reading(page)
    assert f"{round(100 * precision(0.5, 1 / 30, 0.75))} of 100 alarms are true" in reading(page)
    page.locator("select").nth(1).select_option("0")
    assert "Of 20 such faults 1 is found, after 8 s in the median" in reading(page)


def test_alarms_are_drawn_where_the_trace_passes_the_threshold(page):
    page.reload()
    assert page.locator("svg").first.locator('path[stroke*="--figure-rnn"]').count() == 1
    page.locator("select").first.select_option("1")
    assert page.locator("svg").first.locator('path[stroke*="--figure-rnn"]').count() == 0
