"""Untrained networks of PyTorch with a loss at the last step: which gradient reaches the steps before it.

Dimensions: B sequences of T steps, inputs of width D, states of width H, vocabulary V; step 1 is the first.
PyTorch's layers draw their weights from the global generator. Every function here takes seeds, sets that
generator for as long as it draws, and puts it back as it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.arguments import count, positive
from lessonlib.gate_biases import set_forget_bias
from lessonlib.gradients import gradient_norms_through_tanh

MIXERS = ("rnn", "lstm", "gru", "attention")
VOCABULARY, WIDTH, HEADS, ROWS = 32, 64, 4, 16
LAST_STATE_SIZE, LAST_INPUT_SIZE = 32, 16


class MixingProbe(nn.Module):
    """An embedding, one layer that mixes positions, and a linear head; it is probed, never trained.

    Parameters
    ----------
    kind : {"rnn", "lstm", "gru", "attention"}
        The mixing layer, of width 64: PyTorch's RNN (tanh), LSTM or GRU, or one causal pre-norm Transformer
        layer with 4 heads. All start from PyTorch's defaults, drawn in the order embedding, head, mixer.
    seed : int
        For the weights.
    """

    def __init__(self, kind: str, seed: int) -> None:
        super().__init__()
        if kind not in MIXERS:
            raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(MIXERS)}")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embedding = nn.Embedding(VOCABULARY, WIDTH)
            self.head = nn.Linear(WIDTH, VOCABULARY)
            if kind == "attention":
                self.mixer: nn.Module = nn.TransformerEncoderLayer(
                    WIDTH, HEADS, dim_feedforward=4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
            else:
                layer = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[kind]
                self.mixer = layer(WIDTH, WIDTH, batch_first=True)

    def logits(self, embedded: Tensor) -> Tensor:
        """Logits at the last position, (B, V), for embedded tokens (B, T, 64)."""
        if isinstance(self.mixer, nn.TransformerEncoderLayer):
            mask = nn.Transformer.generate_square_subsequent_mask(embedded.shape[1], dtype=embedded.dtype)
            mixed = self.mixer(embedded, src_mask=mask, is_causal=True)
        else:
            mixed, _ = self.mixer(embedded)
        return self.head(mixed[:, -1])


def input_gradients(probe: MixingProbe, length: int, seed: int) -> Tensor:
    """Gradient of the loss at the last position with respect to every embedded input, (B, T, 64).

    The loss is the mean cross-entropy of 16 rows; token ids, then targets, are drawn uniformly from 1 to 31.
    """
    draw = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, VOCABULARY, (ROWS, count("length", length)), generator=draw)
    targets = torch.randint(1, VOCABULARY, (ROWS,), generator=draw)
    embedded = probe.embedding(ids).detach().requires_grad_()
    loss = F.cross_entropy(probe.logits(embedded), targets)
    return torch.autograd.grad(loss, embedded)[0]


def gradient_by_position(probe: MixingProbe, length: int, seed: int) -> Tensor:
    """Norm of the gradient at every position, averaged over the rows, shape (T,), in the probe's precision."""
    return input_gradients(probe, length, seed).norm(dim=-1).mean(dim=0)


@dataclass(frozen=True)
class StepGradients:
    """What one backward pass left behind: norms by step (T,), the loss, and the gradients of the two matrices."""

    norms: np.ndarray
    loss: float
    weights: tuple[Tensor, ...]

    @property
    def ratio(self) -> float:
        """Norm at step 1 over norm at the last step."""
        return float(self.norms[0] / self.norms[-1])

    @property
    def factor(self) -> float:
        """The factor per step back that makes up the ratio."""
        return self.ratio ** (1 / (len(self.norms) - 1))


def step_gradients(kind: str, setting: float | None, *, steps: int = 50, batch: int = 64, input_scale: float = 0.5,
                   data_seed: int = 0, weight_seed: int = 1, dtype: torch.dtype = torch.float32) -> StepGradients:
    """Gradient of a loss at the last step with respect to the state at every step.

    Inputs are normal with standard deviation `input_scale`; the loss is the binary cross-entropy of a fixed
    random read-out of the last state against ones.

    Parameters
    ----------
    kind : {"rnn", "lstm"}
        A tanh network of width 32 whose recurrent matrix has normal entries of standard deviation
        `setting` / sqrt(32), or an LSTM cell whose forget bias is `setting` (`None`: PyTorch's random one).
    steps, batch : int
        T and B.

    Returns
    -------
    StepGradients
        Frobenius norms over the batch, taken in float64; for the LSTM those of the cell state.
    """
    if kind not in ("rnn", "lstm"):
        raise ValueError(f"kind is {kind!r}; it must be rnn or lstm")
    positive("input_scale", input_scale, or_zero=True)
    draw = torch.Generator().manual_seed(data_seed)
    shape = (count("steps", steps), count("batch", batch), LAST_INPUT_SIZE)
    x = (torch.randn(shape, generator=draw) * input_scale).to(dtype)
    readout = (torch.randn(LAST_STATE_SIZE, 1, generator=draw) * 0.2).to(dtype)
    run = _tanh_states if kind == "rnn" else _cell_states
    states, last, weights = run(x, setting, weight_seed)
    loss = F.binary_cross_entropy_with_logits(last @ readout, torch.ones(batch, 1, dtype=dtype))
    gradients = torch.autograd.grad(loss, [*states, *weights])
    norms = np.array([g.double().norm().item() for g in gradients[:steps]])
    return StepGradients(norms, loss.item(), gradients[steps:])


def _tanh_states(x: Tensor, gain: float | None, seed: int) -> tuple[list[Tensor], Tensor, list[Tensor]]:
    """States of a tanh network without biases, rows on the left: s_t = tanh(x_t A + s_{t-1} G)."""
    if gain is None:
        raise ValueError("setting is None; a plain network needs a gain")
    draw = torch.Generator().manual_seed(seed)
    width_in, width = x.shape[-1], LAST_STATE_SIZE
    from_input = torch.randn(width_in, width, generator=draw) * 0.1
    from_state = torch.randn(width, width, generator=draw) * gain / width**0.5
    weights = [w.to(x.dtype).requires_grad_() for w in (from_input, from_state)]
    state, states = x.new_zeros(x.shape[1], width), []
    for x_t in x:
        state = torch.tanh(x_t @ weights[0] + state @ weights[1])
        states.append(state)
    return states, state, weights


def _cell_states(x: Tensor, forget_bias: float | None, seed: int) -> tuple[list[Tensor], Tensor, list[Tensor]]:
    """Cell states of an LSTM and its last output; with its forget bias set or left as drawn."""
    width = LAST_STATE_SIZE
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        cell = nn.LSTMCell(x.shape[-1], width)
    if forget_bias is not None:
        set_forget_bias(cell, forget_bias)
    cell = cell.to(x.dtype)
    h = c = x.new_zeros(x.shape[1], width)
    states = []
    for x_t in x:
        h, c = cell(x_t, (h, c))
        states.append(c)
    return states, h, [cell.weight_ih, cell.weight_hh]


def reach(norms: np.ndarray, share: float = 1e-3) -> int:
    """Steps before the last at which the norm is still at least `share` of the last step's, without a gap.

    Raises
    ------
    ValueError
        If there are no steps, or the last norm is not above 0.
    """
    norms = np.asarray(norms, float)
    if norms.size == 0 or not norms[-1] > 0:
        raise ValueError(f"norms has shape {norms.shape}; it must hold steps, the last of them above 0")
    below = np.flatnonzero(norms[::-1] < share * norms[-1])
    return int(below[0]) - 1 if below.size else norms.size - 1


def flow_summary(norms: np.ndarray, lags: list[int]) -> list[list[float]]:
    """Median, smallest and largest of log10(norm) over networks, norms (networks, T + 1), at the lags given."""
    logs = np.log10(np.asarray(norms, float)[:, lags])
    return [(logs_at.round(3) + 0.0).tolist() for logs_at in (np.median(logs, axis=0), logs.min(axis=0), logs.max(axis=0))]


def plain_flow(radii: list[float], scales: list[float], lags: list[int], networks: int) -> list[list[list[list[float]]]]:
    """`flow_summary` of tanh networks for every spectral radius and input scale: [radius][scale][3][lag]."""
    return [[flow_summary(gradient_norms_through_tanh(
                rho, sigma_x, [np.random.default_rng(seed) for seed in range(networks)], steps=max(lags)), lags)
             for sigma_x in scales] for rho in radii]


def lstm_flow(biases: list[float], scales: list[float], lags: list[int], networks: int) -> list[list[list[list[float]]]]:
    """`flow_summary` of LSTMs' cell-state gradients for every forget bias and input scale, relative to lag 0."""
    def norms(bias: float, scale: float) -> np.ndarray:
        runs = [step_gradients("lstm", bias, steps=max(lags) + 1, batch=4, input_scale=scale, data_seed=seed,
                               weight_seed=seed, dtype=torch.float64).norms for seed in range(networks)]
        return np.stack([run[::-1] / run[-1] for run in runs])
    return [[flow_summary(norms(bias, scale), lags) for scale in scales] for bias in biases]
