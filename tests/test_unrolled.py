"""The explorer of the error signal that walks back through an unrolled network: what it reads out, by keyboard and by button."""

import numpy as np
import pytest
from browser import explorer_page

from lessonlib.bptt import Weights, forward
from lessonlib.drawings_bptt import draw_unrolled_signal, walk_back
from lessonlib.explorers import explorer_html
from lessonlib.recurrent import RecurrentNetwork

STEPS = 4
LAST = 3 * STEPS + 1  # operations: the start, three a step, the initial state
NETWORK = Weights(RecurrentNetwork(W_h=[[0.8, -0.4], [0.2, 0.6]], W_x=[[0.5], [-0.3]], b=[0.1, 0.0], W_y=[[1.0, -1.0]], c=[0.0]))
INPUTS, WANTED = np.array([[1.0], [0.0], [-1.0], [0.5]]), np.array([[0.5], [0.5], [-0.5], [0.0]])
ERRORS = forward(NETWORK, INPUTS[None]).outputs[:, 0] - WANTED
WALKS = {"every step": walk_back(NETWORK, INPUTS, ERRORS), "the last step only": walk_back(NETWORK, INPUTS, ERRORS * [[0], [0], [0], [1]]),
         "every step, cut before step 3": walk_back(NETWORK, INPUTS, ERRORS, cut=2)}


def written(values):
    """Numbers as the explorer writes them."""
    return ", ".join(f"{value:.3f}".replace("-", "\u2212") for value in values)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Two explorers of the unrolled network, opened from the disk in a browser without a network."""
    scenarios = [{"name": name, "note": "A note.", "losses": [name != "the last step only"] * 3 + [True], "cut": 2 if "cut" in name else 0,
                  "h": [walk["h_0"], *walk["h"]], **{key: walk[key] for key in ("from_output", "from_later", "delta", "g", "terms", "delta_0")}}
                 for name, walk in WALKS.items()]
    element = explorer_html("unrolled", {"steps": STEPS, "scenarios": scenarios}, draw_unrolled_signal(WALKS["every step"]),
                            "Four steps unrolled, with a loss at each of them.", "Explorer", controls="29rem", digits=5)
    with explorer_page(element + element, "unrolled", tmp_path_factory.mktemp("explorer")) as opened:
        yield opened


def reading(page):
    return page.locator(".explorer-reading").first.inner_text()


def at(page, operation):
    """Move the first explorer to an operation, by keyboard."""
    page.locator("input[type=range]").first.focus()
    page.keyboard.press("Home")
    for _ in range(operation):
        page.keyboard.press("ArrowRight")


def test_explorer_fits_a_phone_names_its_controls_and_moves_nothing(page):
    assert page.faults == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert abs(page.evaluate("document.getElementById('after').offsetTop - window.before")) <= 2
    ids = page.eval_on_selector_all("[id]", "nodes => nodes.map(node => node.id)")
    assert len(ids) == len(set(ids))
    names = page.eval_on_selector_all("select, input, button, [tabindex]",
                                      "nodes => nodes.map(e => e.ariaLabel ?? (e.labels?.[0] ?? e).textContent)")
    assert names[:5] == ["Losses at", "Back", "Operation of the backward pass", "Next", "Signals and terms so far"]


def test_keyboard_walks_through_the_numbers_of_the_library(page):
    page.reload()
    walk = WALKS["every step"]
    assert f"= ({written(walk['delta_0'])}) is what reaches the initial state" in reading(page)
    at(page, 0)
    assert reading(page) == "The forward pass is done: every state is known. A note. Nothing has gone back yet."
    assert set(page.locator("table").first.locator("td").all_inner_texts()) == {"\u2013"}
    page.keyboard.press("ArrowRight")
    assert f"its own loss sends ({written(walk['from_output'][3])}), and nothing comes later" in reading(page)
    page.keyboard.press("ArrowRight")
    assert f"g\u2084 = ({written(walk['g'][3])})" in reading(page)
    page.keyboard.press("ArrowRight")
    assert "; ".join(written(row) for row in walk["terms"][3]) in reading(page)
    page.keyboard.press("ArrowRight")
    assert f"step 4 sends W\u2095\u1d40 g\u2084 = ({written(walk['from_later'][2])})" in reading(page)
    slider = page.locator("input[type=range]").first
    assert slider.get_attribute("aria-valuetext") == f"operation 4 of {LAST}"
    assert page.locator("svg title").first.text_content().endswith(reading(page))
    assert page.locator("td.now span").all_inner_texts() == [written([value]) for value in walk["delta"][2]]
    assert "The walk is over" in page.locator(".explorer-reading").nth(1).inner_text()  # the second explorer stays as it was


def test_buttons_take_one_operation_and_stop_at_the_ends(page):
    page.reload()
    back, following = page.get_by_role("button", name="Back").first, page.get_by_role("button", name="Next").first
    assert (back.get_attribute("aria-disabled"), following.get_attribute("aria-disabled")) == ("false", "true")
    back.focus()
    page.keyboard.press("Enter")
    assert reading(page).startswith("Step 1, one term for the weights") and "It is zero, because h\u2080 is zero." in reading(page)
    following.focus()
    for _ in range(3):
        page.keyboard.press("Enter")
    assert "The walk is over" in reading(page)
    at(page, 0)
    assert (back.get_attribute("aria-disabled"), following.get_attribute("aria-disabled")) == ("true", "false")


@pytest.mark.parametrize("name", WALKS)
def test_the_sum_is_the_gradient_of_the_recurrent_weights(page, name):
    page.reload()
    page.locator("select").first.select_option(label=name)
    total = page.locator("table").first.locator("tfoot td span").all_inner_texts()
    assert [float(value.replace("\u2212", "-")) for row in total for value in row.split(", ")] == pytest.approx(
        WALKS[name]["terms"].sum(axis=0).ravel(), abs=0.001)


def test_no_signal_passes_the_cut_and_none_starts_where_no_loss_is(page):
    page.reload()
    page.locator("select").first.select_option(label="every step, cut before step 3")
    assert page.locator("svg").first.get_by_text("cut", exact=True).count() == 1
    at(page, 7)
    assert "the cut keeps everything later away" in reading(page)
    page.locator("select").first.select_option(label="the last step only")
    assert page.locator("svg").first.get_by_text("cut", exact=True).count() == 0
    assert reading(page).startswith("Step 2, signal at the state: it has no loss of its own, and step 3 sends")
