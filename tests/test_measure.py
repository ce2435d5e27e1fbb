"""Measurements and claims: what may be recorded, and what counts as true."""

import numpy as np
import pytest
import torch

from lessonlib import measure
from lessonlib.measure import CLAIM_MIME, MEASUREMENT_MIME, FalseClaim, claim, plain, record


@pytest.fixture
def left(monkeypatch):
    """What cells leave in the notebook."""
    outputs = []
    monkeypatch.setattr(measure, "display", lambda data, raw: outputs.append(data))
    return outputs


@pytest.mark.parametrize(("value", "kept"), [
    (3, 3), (0.5, 0.5), (True, True), ("a", "a"), ((1, 2.5), [1, 2.5]), (np.float32(0.5), 0.5), (np.arange(3), [0, 1, 2]),
    (torch.tensor([[1.0], [2.0]]), [[1.0], [2.0]]), ([np.int64(2), torch.tensor(False)], [2, False]),
])
def test_a_measurement_is_kept_as_plain_python(left, value, kept):
    assert record("a-name", value) == kept
    assert left == [{MEASUREMENT_MIME: {"name": "a-name", "value": kept}}] and type(plain(value)) is type(kept)


@pytest.mark.parametrize(("name", "value"), [("A-name", 1), ("a name", 1), ("", 1), ("a-name", {"a": 1}), ("a-name", [None]), ("a-name", 1j)])
def test_what_cannot_be_recorded_is_refused(left, name, value):
    with pytest.raises(ValueError, match="name is|value is"):
        record(name, value)
    assert left == []


@pytest.mark.parametrize("holds", [True, np.bool_(True), (np.arange(3) >= 0).all(), torch.tensor(True), (torch.ones(2) > 0).all()])
def test_a_claim_that_holds_is_left_for_the_build(left, holds):
    claim("it holds", holds)
    assert left == [{CLAIM_MIME: {"sentence": "it holds"}}]


@pytest.mark.parametrize("holds", [False, np.bool_(False), torch.tensor(False), (np.arange(3) > 0).all()])
def test_a_false_claim_stops_the_page_with_its_sentence(left, holds):
    with pytest.raises(FalseClaim, match="it holds"):
        claim("it holds", holds)
    assert left == []


@pytest.mark.parametrize("holds", [1, 0.5, "no", [False], [], np.array([True, True]), (x > 2 for x in (1, 2)), float("nan"), None])
def test_what_is_no_truth_value_does_not_pass_for_a_claim(left, holds):
    with pytest.raises(ValueError, match="holds is|value is"):
        claim("it holds", holds)
    assert left == []
