"""Interactive figures: what leaves the page, what a reader without JavaScript sees, what the script makes of it."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from browser import explorer_page

from lessonlib import explorers
from lessonlib.explorers import explorer_html, packed, rounded
from lessonlib.figures import new_figure
from lessonlib.measure import DRAWN_MIME

ASSETS = Path(__file__).parents[1] / "book" / "assets"
ALT = "Two straight lines on a logarithmic axis, one falling and one level."
LAGS = [0, 10, 50, 100]


def flow_data():
    falling = [[-0.2 * n for n in LAGS], [-0.3 * n for n in LAGS], [-0.1 * n for n in LAGS]]
    level = [[0.0] * 4, [-0.2] * 4, [0.2] * 4]
    models = [{"name": f"model {i}", "colour": colour, "fixedColour": "#b34700", "setting": "Spectral radius",
               "settings": [0.5, 1.0], "start": 1, "prediction": "The prediction", "rates": [-0.301, 0.0],
               "curves": [[falling, level], [level, falling]]} for i, colour in enumerate(("rnn", "lstm"))]
    return {"lags": LAGS, "networks": 3, "low": -35, "high": 15, "scales": [0, 1], "startScale": 1, "models": models}


def element(data=None, **options):
    figure, axes = new_figure()
    axes.plot([0, 1])
    return explorer_html("gradient-flow", flow_data() if data is None else data, figure, ALT, "Explorer", **options)


class Tree(HTMLParser):
    """Start tags with their attributes, and the text of scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag == "script"

    def handle_data(self, data):
        if self.inside:
            self.scripts.append(data)

    def handle_endtag(self, tag):
        self.inside = False


def test_rounding_keeps_three_significant_digits_at_any_depth():
    value = {"a": [np.float64(1 / 3), (2, 1234.5)], "b": np.array([[1.0, -2e-7 / 3]]), "c": [{"d": True, "e": "x"}]}
    assert rounded(value) == {"a": [0.333, [2, 1230]], "b": [[1, -6.67e-8]], "c": [{"d": True, "e": "x"}]}


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), [1.0, float("-inf")], {"a": [{"b": float("nan")}]}])
def test_numbers_that_json_cannot_hold_are_refused(bad):
    with pytest.raises(ValueError, match="finite"):
        rounded(bad)


def test_json_survives_inside_a_script_element():
    data = {"text": "</script><b>ρ & \u2028", "values": [1.5]}
    text = packed(data)
    assert "<" not in text and "\u2028" not in text and json.loads(text) == data


def test_too_much_data_is_refused():
    with pytest.raises(ValueError, match="60,000"):
        packed({"values": list(np.linspace(0, 1, 20_000))})


@pytest.mark.parametrize("options, name", [({"kind": "Gradient flow"}, "kind"), ({"title": " "}, "title"), ({"alt": "short"}, "alt")])
def test_bad_input_names_the_argument(options, name):
    figure, _ = new_figure()
    given = {"kind": "gradient-flow", "data": {}, "fallback": figure, "alt": ALT, "title": "Explorer", **options}
    with pytest.raises(ValueError, match=name):
        explorer_html(**given)


def test_the_element_says_something_without_javascript_and_holds_no_code():
    tree = Tree(element())
    outer = tree.tags[0]
    assert outer == ("div", {"class": "explorer", "data-explorer": "gradient-flow", "role": "group", "aria-label": "Explorer"})
    assert [attributes["aria-label"] for tag, attributes in tree.tags if tag == "svg"] == [ALT]
    assert [attributes for tag, attributes in tree.tags if tag == "script"] == [{"type": "application/json"}]
    assert json.loads(tree.scripts[0]) == rounded(flow_data())
    assert "With JavaScript" in element() and "min-height:16rem" in element()
    assert element() == element()  # the same text at every run


def test_the_output_is_checked_by_its_description_and_its_values(monkeypatch):
    figure, axes = new_figure()
    axes.plot([0, 1])
    shown = []
    monkeypatch.setattr(explorers, "display", lambda data, **options: shown.append((data, options)))
    explorers.explorer("gradient-flow", flow_data(), fallback=figure, alt=ALT, title="Explorer")
    (drawn, _), (data, options) = shown
    assert drawn == {DRAWN_MIME: [explorers.summary(explorers.rounded(flow_data()))]}
    assert data["text/plain"] == f"[explorer: {ALT}]" and data["text/html"] == element()
    assert options == {"raw": True, "metadata": {"lessonlib": {"alt": ALT}}}


# In a browser -------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with two explorers and the script, opened from the disk in a browser without a network."""
    with explorer_page(element(digits=4) + element(), "gradient-flow", tmp_path_factory.mktemp("explorer")) as opened:
        yield opened


def reading(page):
    return page.locator(".explorer-reading").first.inner_text()


def test_nothing_moves_and_nothing_fails_when_the_script_adds_the_controls(page):
    assert page.faults == []
    assert abs(page.evaluate("document.getElementById('after').offsetTop - window.before")) <= 2
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_every_control_has_a_name_and_ids_are_unique(page):
    assert page.locator("select, input").count() == 8
    for control in page.locator("select, input").all():
        assert page.locator(f'label[for="{control.get_attribute("id")}"]').inner_text().strip()
    ids = page.eval_on_selector_all("[id]", "nodes => nodes.map(node => node.id)")
    assert len(ids) == len(set(ids))


def test_keyboard_moves_the_reading_and_the_description(page):
    page.reload()
    first = reading(page)
    assert re.search(r"At lag 100 the median gradient is 1\.0e-20 \(1\.0e-30 to 1\.0e-10 over 3 networks\)", first)
    assert "0.20 decades lost per step: it halves every 1.5 steps." in first and "predicts 1." in first
    page.locator("input[type=range]").first.focus()
    page.keyboard.press("ArrowLeft")
    assert reading(page).startswith("At lag 100 the median gradient is 1 ")
    assert "predicts 7.9e-31" in reading(page)
    assert page.locator("svg title").first.text_content().endswith(reading(page))
    assert page.locator("input[type=range]").first.get_attribute("aria-valuetext") == "Spectral radius 0.5"
    page.locator("input[type=range]").nth(1).focus()
    page.keyboard.press("Home")
    assert reading(page) == "At lag 0 every curve starts at 1."


def test_choosing_another_network_redraws_in_its_colour(page):
    page.reload()
    page.locator("select").first.select_option("1")
    assert "--figure-lstm" in page.locator("svg circle").first.get_attribute("fill")
    assert page.locator(".explorer-reading").nth(1).inner_text() == reading(page)  # the second explorer stays as it was
