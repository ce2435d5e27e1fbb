"""Neural forecasters of one channel from a window of the past: an LSTM and a temporal convolutional network.

Dimensions: N windows, B of them in a batch, W steps of a window, C channels, H width of a network, h horizons.
Windows have shape (N, W, C) and hold the forecast channel first; forecasts and targets have shape (N, h).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.arguments import count, positive

BATCH_SIZE, EPOCHS, LEARNING_RATE, MAX_NORM = 128, 10, 3e-3, 1.0  # the protocol of the lab


class Forecaster(nn.Module):
    """A summary of the window, a linear head with one output a horizon, and normalisation per window.

    With `per_window` the last value of the forecast channel is subtracted from it before the network reads it and added
    to the forecasts, so the network sees the shape of the window, not its level. Other channels keep their level.
    """

    def __init__(self, width: int, horizons: int, channels: int, per_window: bool) -> None:
        super().__init__()
        self.channels, self.per_window = channels, per_window
        self.head = nn.Linear(count("width", width), count("horizons", horizons))

    def summary(self, x: Tensor) -> Tensor:
        """What the network makes of a window, shape (B, H)."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Forecasts (B, h) from windows (B, W, C)."""
        if x.ndim != 3 or x.shape[1] < 1 or x.shape[2] != self.channels:
            raise ValueError(f"x has shape {tuple(x.shape)}; it must be (B, W, {self.channels}) with W at least 1")
        if not self.per_window:
            return self.head(self.summary(x))
        last = x[:, -1:, :1]                                                 # (B, 1, 1)
        return self.head(self.summary(x - F.pad(last, (0, self.channels - 1)))) + last[:, 0]


class LSTMForecaster(Forecaster):
    """LSTM layers whose last state is the summary; the dropout between them draws from PyTorch's global generator."""

    def __init__(self, hidden_size: int = 32, horizons: int = 1, *, channels: int = 1, layers: int = 2,
                 dropout: float = 0.1, per_window: bool = True) -> None:
        if dropout and layers == 1:
            raise ValueError(f"dropout is {dropout} with one layer; it acts between layers, give 0 or more layers")
        recurrence = nn.LSTM(count("channels", channels), count("hidden_size", hidden_size),
                             num_layers=count("layers", layers), batch_first=True, dropout=dropout)
        super().__init__(hidden_size, horizons, channels, per_window)
        self.recurrence = recurrence

    def summary(self, x: Tensor) -> Tensor:
        """The top layer's state after the last step, shape (B, H)."""
        return self.recurrence(x)[0][:, -1]


class TCNForecaster(Forecaster):
    """Causal dilated convolutions with residual connections (Bai, Kolter and Koltun, 2018); the summary is the last step.

    Layer l maps h to relu(conv(h)) + h, with zeros on the left; a convolution of width 1 lifts the input of the first.
    The receptive field is 1 + (k - 1) times the sum of the dilations.
    """

    def __init__(self, width: int = 32, horizons: int = 1, *, channels: int = 1, kernel_size: int = 2,
                 dilations: Sequence[int] = (1, 2, 4, 8, 16, 32), per_window: bool = True) -> None:
        if not len(dilations) or min(count("dilations", d) for d in dilations) < 1:
            raise ValueError(f"dilations is {dilations}; it must hold at least one whole number of at least 1")
        sizes = [count("channels", channels)] + [count("width", width)] * len(dilations)
        layers = [nn.Conv1d(i, o, count("kernel_size", kernel_size), dilation=d)
                  for i, o, d in zip(sizes, sizes[1:], dilations)]
        lift = nn.Conv1d(channels, width, 1)
        super().__init__(width, horizons, channels, per_window)
        self.layers, self.lift, self.kernel_size = nn.ModuleList(layers), lift, kernel_size

    @property
    def receptive_field(self) -> int:
        """Steps of the window on which the summary can depend."""
        return 1 + (self.kernel_size - 1) * sum(layer.dilation[0] for layer in self.layers)

    def features(self, x: Tensor) -> Tensor:
        """The output of the last layer at every step, shape (B, W, H); step t has read steps up to t only."""
        h = x.transpose(1, 2)                                                # (B, C, W)
        for i, layer in enumerate(self.layers):
            past = (self.kernel_size - 1) * layer.dilation[0]
            h = F.relu(layer(F.pad(h, (past, 0)))) + (h if i else self.lift(h))
        return h.transpose(1, 2)

    def is_tree(self, steps: int) -> bool:
        """Whether the last step reads each of `steps` steps once: kernel 2, dilations 1, 2, 4, ..., no padding."""
        doubling = [layer.dilation[0] for layer in self.layers] == [2**i for i in range(len(self.layers))]
        return self.kernel_size == 2 and doubling and steps == self.receptive_field

    def summary(self, x: Tensor) -> Tensor:
        """The features of the last step, shape (B, H); in a tree each layer joins pairs, which halves the steps."""
        if not self.is_tree(x.shape[1]):
            return self.features(x)[:, -1]
        for i, layer in enumerate(self.layers):
            pairs = x.unflatten(1, (-1, 2))                                  # (B, half of the steps, 2, C or H)
            joined, later = F.linear(pairs.flatten(2), layer.weight.transpose(1, 2).flatten(1), layer.bias), pairs[:, :, 1]
            x = F.relu(joined) + (later if i else F.linear(later, self.lift.weight[:, :, 0], self.lift.bias))
        return x[:, 0]


def check_windows(windows: Tensor, targets: Tensor | None = None) -> None:
    """Refuse windows and targets that no forecaster can use, with a ValueError that names the argument."""
    if windows.ndim != 3 or 0 in windows.shape:
        raise ValueError(f"windows has shape {tuple(windows.shape)}; it must be (N, W, C), none of them 0")
    if targets is not None and (targets.ndim != 2 or len(targets) != len(windows) or targets.shape[1] < 1):
        raise ValueError(f"targets has shape {tuple(targets.shape)}; it must be ({len(windows)}, h) with h at least 1")
    for name, values in (("windows", windows), ("targets", targets)):
        if values is not None and not torch.isfinite(values).all():
            raise ValueError(f"{name} holds {int((~torch.isfinite(values)).sum())} values that are not finite; "
                             "fill the gaps or leave out the windows that touch them")


def fit_forecaster(model: nn.Module, windows: Tensor, targets: Tensor, *, generator: torch.Generator, epochs: int = EPOCHS,
                   batch_size: int = BATCH_SIZE, learning_rate: float = LEARNING_RATE, max_norm: float = MAX_NORM,
                   loss: Callable[[Tensor, Tensor], Tensor] = F.mse_loss,
                   after_epoch: Callable[[int], object] | None = None) -> list[float]:
    """Train with AdamW on shuffled batches, with clipped gradients; the model is left in evaluation mode.

    Parameters
    ----------
    windows, targets : Tensor, shapes (N, W, C) and (N, h), or what `loss` takes
    generator : torch.Generator
        Orders the windows in each epoch. Dropout draws from PyTorch's global generator: seed it for a repeatable run.
    loss : callable
        Of the model's output (B, ...) and the targets (B, h).
    after_epoch : callable, optional
        Called with the number of epochs done, the model in evaluation mode.

    Returns
    -------
    list of float
        Mean training loss of each epoch.
    """
    check_windows(windows, targets)
    epochs, batch_size = count("epochs", epochs), count("batch_size", batch_size)
    optimiser = torch.optim.AdamW(model.parameters(), lr=positive("learning_rate", learning_rate), fused=True)  # fewer passes
    losses = []
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for batch in torch.randperm(len(windows), generator=generator).split(batch_size):
            value = loss(model(windows[batch]), targets[batch])
            optimiser.zero_grad()
            value.backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimiser.step()
            total += value.item() * len(batch)
        losses.append(total / len(windows))
        model.eval()
        if after_epoch is not None:
            after_epoch(epoch)
    return losses


@torch.no_grad()
def forecast(model: nn.Module, windows: Tensor, batch_size: int = 2048) -> Tensor:
    """Output of the model for windows (N, W, C), as a rule (N, h), in evaluation mode; the model's mode is restored."""
    check_windows(windows)
    was_training = model.training
    model.eval()
    answers = torch.cat([model(part) for part in windows.split(count("batch_size", batch_size))])
    model.train(was_training)
    return answers


def recursive_forecast(one_step: Callable[[Tensor], Tensor], windows: Tensor, horizon: int) -> Tensor:
    """Iterate a one-step forecast: each value joins the window, whose oldest value drops out.

    Parameters
    ----------
    one_step : callable
        Forecasts (N, 1) from windows (N, W, 1), such as `lambda w: forecast(model, w)`.
    windows : Tensor, shape (N, W, 1)
        One channel: later values of other channels would have to be known.

    Returns
    -------
    Tensor, shape (N, horizon)
    """
    check_windows(windows)
    if windows.shape[2] != 1:
        raise ValueError(f"windows has {windows.shape[2]} channels; recursion forecasts one channel from itself alone")
    steps = []
    for _ in range(count("horizon", horizon)):
        step = one_step(windows)
        if step.shape != (len(windows), 1):
            raise ValueError(f"one_step returns shape {tuple(step.shape)}; it must be ({len(windows)}, 1)")
        steps.append(step)
        windows = torch.cat([windows[:, 1:], step[:, :, None]], dim=1)
    return torch.cat(steps, dim=1)
