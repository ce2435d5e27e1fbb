"""The forecasters: sizes, causality, the tree form, invariance to the level, training, recursion, and bad input."""

import numpy as np
import pytest
import torch
from torch import nn

from lessonlib.forecasters import (Forecaster, LSTMForecaster, TCNForecaster, check_windows, fit_forecaster, forecast,
                                   recursive_forecast)
from lessonlib.racers import build_with_seed, parameter_count


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def windows(n=5, steps=8, channels=1, seed=1):
    return torch.randn(n, steps, channels, dtype=torch.float64, generator=seeded(seed))


def build(make, seed=0):
    return build_with_seed(make, seed).double().eval()


MAKERS = {"lstm": lambda **o: LSTMForecaster(6, **o), "tcn": lambda **o: TCNForecaster(6, dilations=(1, 2, 4), **o)}


def test_sizes_of_the_protocol():
    assert parameter_count(LSTMForecaster()) == 12_961 == (4 * 32 * (1 + 32) + 8 * 32) + (4 * 32 * 64 + 8 * 32) + 33
    assert parameter_count(TCNForecaster()) == 10_593 == (2 * 32 + 32) + 5 * (2 * 32 * 32 + 32) + 2 * 32 + 33
    assert TCNForecaster().receptive_field == 64
    assert LSTMForecaster(horizons=20)(torch.zeros(3, 64, 1)).shape == (3, 20)


@pytest.mark.parametrize("kernel_size", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2, 4])
def test_convolutions_keep_the_length_and_see_the_past_only(kernel_size, dilation):
    """The gradient of step t with respect to the window is not zero on the receptive field and zero elsewhere."""
    model = build(lambda: TCNForecaster(8, kernel_size=kernel_size, dilations=(dilation, dilation)))
    x = windows(1, 24).requires_grad_()
    features = model.features(x)
    assert features.shape == (1, 24, 8) and model.receptive_field == 1 + 2 * (kernel_size - 1) * dilation
    for t in (0, 11, 23):
        grad = torch.autograd.grad(features[0, t].sum(), x, retain_graph=True)[0][0, :, 0]
        seen = [t - j * dilation for j in range(2 * (kernel_size - 1) + 1) if t - j * dilation >= 0]
        assert grad.nonzero().flatten().tolist() == sorted(seen)


def test_features_equal_a_convolution_written_out():
    model = build(lambda: TCNForecaster(3, channels=2, kernel_size=3, dilations=(1, 2)))
    h = windows(1, 9, 2)[0].numpy()
    for i, layer in enumerate(model.layers):
        weight, bias, out = layer.weight.detach().numpy(), layer.bias.detach().numpy(), []
        for t in range(len(h)):
            taps = [h[t - (2 - j) * layer.dilation[0]] if t >= (2 - j) * layer.dilation[0] else np.zeros(h.shape[1]) for j in range(3)]
            skip = h[t] if i else model.lift.weight.detach().numpy()[:, :, 0] @ h[t] + model.lift.bias.detach().numpy()
            out.append(np.maximum(0, sum(weight[:, :, j] @ taps[j] for j in range(3)) + bias) + skip)
        h = np.array(out)
    assert np.allclose(model.features(windows(1, 9, 2))[0].detach().numpy(), h, atol=1e-12, rtol=0)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("layers", [1, 2, 4])
def test_the_tree_equals_the_last_step_and_so_does_its_gradient(channels, layers):
    model = build(lambda: TCNForecaster(5, channels=channels, dilations=[2**i for i in range(layers)]))
    x = windows(4, model.receptive_field, channels)
    assert model.is_tree(x.shape[1])
    gradients = []
    for summary in (model.summary(x), model.features(x)[:, -1]):
        model.zero_grad()
        summary.square().sum().backward()
        gradients.append(([p.grad.clone() for p in model.parameters() if p.grad is not None], summary.detach()))
    (a, tree), (b, last) = gradients
    assert torch.allclose(tree, last, atol=1e-12, rtol=0) and len(a) == len(b) == 2 * layers + 2
    assert all(torch.allclose(p, q, atol=1e-10, rtol=0) for p, q in zip(a, b, strict=True))


@pytest.mark.parametrize("options, steps", [({"dilations": (1, 2, 4)}, 7), ({"dilations": (1, 2, 4)}, 9), ({"dilations": (1, 3)}, 5),
                                            ({"dilations": (1, 2), "kernel_size": 3}, 7)])
def test_other_shapes_are_no_tree_and_are_read_to_the_end(options, steps):
    model = build(lambda: TCNForecaster(4, **options))
    assert not model.is_tree(steps)
    x = windows(3, steps)
    assert torch.equal(model.summary(x), model.features(x)[:, -1])


def test_lstm_summary_is_the_last_state_of_the_top_layer():
    model = build(lambda: LSTMForecaster(7, channels=2))
    x = windows(3, 9, 2)
    assert torch.allclose(model.summary(x), model.recurrence(x)[1][0][-1], atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", MAKERS)
def test_the_level_passes_through_and_nothing_else_does(kind):
    """f(x + c) = f(x) + c where windows are normalised, for the forecast channel; a given channel keeps its level."""
    model, x = build(lambda: MAKERS[kind](horizons=3)), windows()
    assert torch.allclose(model(x + 1000), model(x) + 1000, atol=1e-9, rtol=0)
    whole = build(lambda: MAKERS[kind](horizons=3, per_window=False))
    assert (whole(x + 1000) - whole(x) - 1000).abs().max() > 1
    two, given = build(lambda: MAKERS[kind](channels=2)), windows(channels=2)
    shifted = given + torch.tensor([5.0, 0.0])
    assert torch.allclose(two(shifted), two(given) + 5, atol=1e-9, rtol=0)
    assert (two(given + torch.tensor([0.0, 5.0])) - two(given)).abs().max() > 1e-3


@pytest.mark.parametrize("kind", MAKERS)
def test_a_forecast_does_not_depend_on_its_batch_and_leaves_the_mode(kind):
    model, x = build(MAKERS[kind]).train(), windows()
    whole = forecast(model, x)
    assert model.training and not whole.requires_grad
    for size in (1, 2, 3):
        assert torch.allclose(forecast(model, x, batch_size=size), whole, atol=1e-12, rtol=0)
    order = torch.tensor([3, 0, 4, 1, 2])
    assert torch.allclose(forecast(model, x[order]), whole[order], atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", MAKERS)
def test_training_fits_a_tiny_batch_and_repeats(kind):
    x, y = windows(8, 4).float(), windows(8, 1)[:, :, 0].float()

    def run():
        torch.manual_seed(5)
        model = MAKERS[kind]()
        return fit_forecaster(model, x, y, generator=seeded(2), epochs=100, learning_rate=0.05), model, torch.rand(1)

    with torch.random.fork_rng(devices=[]):
        (losses, model, after), (again, _, after_again) = run(), run()
    assert losses == again and torch.equal(after, after_again) and not model.training
    assert len(losses) == 100 and losses[-1] < 0.05 * losses[0]
    assert (forecast(model, x) - y).square().mean() < 0.05 * y.square().mean()


def test_clipping_stands_between_gradient_and_step():
    """With a largest norm of 0 no gradient arrives: AdamW then only shrinks the weights by 1 - rate x decay an update."""
    model = build(MAKERS["tcn"]).float()
    before = [p.detach().clone() for p in model.parameters()]
    fit_forecaster(model, windows(5).float(), torch.zeros(5, 1), generator=seeded(), epochs=3, batch_size=2, learning_rate=0.1, max_norm=0)
    assert all(torch.allclose(p, q * (1 - 0.1 * 0.01) ** 9, atol=1e-6) for p, q in zip(model.parameters(), before, strict=True))


class Constant(Forecaster):
    """Forecasts the last value plus a bias; its loss is known."""

    def summary(self, x):
        return torch.zeros(len(x), 1)


def test_losses_are_means_over_windows_and_each_epoch_ends_in_evaluation_mode():
    model, seen = Constant(1, 1, 1, True), []
    nn.init.zeros_(model.head.bias)
    x, y = torch.zeros(5, 4, 1), torch.tensor([[0.0], [0], [0], [0], [10]])
    losses = fit_forecaster(model, x, y, generator=seeded(), epochs=2, batch_size=2, learning_rate=1e-9,
                            after_epoch=lambda epoch: seen.append((epoch, model.training)))
    assert losses == pytest.approx([20, 20], rel=1e-6) and seen == [(1, False), (2, False)]
    mean = fit_forecaster(model, x, y, generator=seeded(), epochs=1, learning_rate=1e-9, loss=nn.functional.l1_loss)
    assert mean == pytest.approx([2], rel=1e-6)


def test_recursion_reads_its_own_steps_and_drops_the_oldest():
    x = torch.arange(1.0, 7).reshape(2, 3, 1)
    halves = recursive_forecast(lambda w: w[:, -1] / 2, x, 3)
    assert halves.tolist() == [[1.5, 0.75, 0.375], [3, 1.5, 0.75]]
    cycle = recursive_forecast(lambda w: w[:, 0], x, 7)
    assert cycle.tolist() == [[1, 2, 3, 1, 2, 3, 1], [4, 5, 6, 4, 5, 6, 4]]
    fibonacci = recursive_forecast(lambda w: w[:, -1] + w[:, -2], torch.ones(1, 4, 1), 6)
    assert fibonacci.tolist() == [[2, 3, 5, 8, 13, 21]] and x.flatten().tolist() == [1, 2, 3, 4, 5, 6]


def test_direct_and_recursive_agree_on_the_first_step():
    model, x = build(MAKERS["lstm"]), windows()
    assert torch.equal(recursive_forecast(lambda w: forecast(model, w), x, 4)[:, :1], forecast(model, x))


X, Y = torch.zeros(4, 8, 1), torch.zeros(4, 1)
NAN = torch.full((4, 8, 1), float("nan"))
TCN = TCNForecaster(4, dilations=(1, 2, 4))
BAD = {
    "x": [lambda: TCN(X[0]), lambda: TCN(torch.zeros(2, 8, 2)), lambda: TCN(torch.zeros(2, 0, 1))],
    "windows": [lambda: check_windows(X[:0]), lambda: check_windows(X[..., 0]), lambda: forecast(TCN, NAN),
                lambda: fit_forecaster(TCN, X[:, :0], Y, generator=seeded()), lambda: recursive_forecast(TCN, torch.zeros(4, 8, 2), 3)],
    "targets": [lambda: check_windows(X, Y[:3]), lambda: check_windows(X, Y[:, 0]), lambda: check_windows(X, NAN[:, :1, 0])],
    "epochs": [lambda: fit_forecaster(TCN, X, Y, generator=seeded(), epochs=0)],
    "batch_size": [lambda: fit_forecaster(TCN, X, Y, generator=seeded(), batch_size=0), lambda: forecast(TCN, X, batch_size=0)],
    "learning_rate": [lambda: fit_forecaster(TCN, X, Y, generator=seeded(), learning_rate=-1.0)],
    "dropout": [lambda: LSTMForecaster(layers=1)],
    "hidden_size": [lambda: LSTMForecaster(0)],
    "horizons": [lambda: LSTMForecaster(horizons=0)],
    "channels": [lambda: TCNForecaster(channels=0)],
    "dilations": [lambda: TCNForecaster(dilations=()), lambda: TCNForecaster(dilations=(1, 0))],
    "kernel_size": [lambda: TCNForecaster(kernel_size=0)],
    "horizon": [lambda: recursive_forecast(TCN, X, 0)],
    "one_step": [lambda: recursive_forecast(lambda w: w[:, -1, 0], X, 2)],
}


@pytest.mark.parametrize("name, call", [(name, call) for name, calls in BAD.items() for call in calls])
def test_bad_input_names_the_argument(name, call):
    with pytest.raises(ValueError, match=name):
        call()
