"""The drawing of the convolutional network agrees with its gradient."""

import matplotlib.pyplot as plt
import pytest
import torch

from lessonlib.drawings_mount import draw_tcn, read_by_last
from lessonlib.forecasters import TCNForecaster


def test_read_steps_are_a_tree_where_dilations_double():
    assert read_by_last(8, (1, 2, 4)) == [set(range(8)), {1, 3, 5, 7}, {3, 7}, {7}]


@pytest.mark.parametrize("steps, dilations", [(12, (1, 2, 4)), (9, (3, 1)), (5, (4, 4))])
def test_read_inputs_are_those_with_a_gradient(steps, dilations):
    model = TCNForecaster(16, dilations=dilations).double()
    x = torch.randn(1, steps, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    model.features(x)[0, -1].sum().backward()
    assert set(x.grad[0, :, 0].nonzero().flatten().tolist()) == read_by_last(steps, dilations)[0]


def test_the_drawing_counts_what_is_needed():
    figure = draw_tcn()
    assert [text.get_text() for text in figure.axes[0].texts] == ["window: 8", "dilation 1: 4", "dilation 2: 2", "dilation 4: 1"]
    plt.close(figure)


@pytest.mark.parametrize("name, call", [("steps", lambda: read_by_last(0, (1,))), ("dilations", lambda: draw_tcn(4, (0,)))])
def test_bad_input_names_the_argument(name, call):
    with pytest.raises(ValueError, match=name):
        call()
