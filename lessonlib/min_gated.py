"""minGRU and minLSTM (Feng et al. 2024): gated layers whose gates do not read the state, so that a scan trains them.

Dimensions: B sequences of T steps, inputs of width d, states of width H. Inputs are (B, T, d), states (B, T, H), the
state before the first step (B, H). Both layers are h_t = a_t h_{t-1} + b_t with a_t and b_t made from x_t alone:

    minGRU     a = 1 - u             b = u n              u = sigmoid(W_u x)                     n = W_n x
    minLSTM    a = f / (f + i)       b = i / (f + i) n    f = sigmoid(W_f x), i = sigmoid(W_i x)
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from lessonlib.arguments import count
from lessonlib.scan import recur


class MinGRU(nn.Module):
    """A GRU without reset gate, without tanh, and with an update gate that reads the input only.

    Parameters
    ----------
    input_size, hidden_size : int
        d and H.

    The weights are those of one `nn.Linear`, blocks update gate and candidate.
    """

    blocks: ClassVar[tuple[str, ...]] = ("update", "candidate")

    def __init__(self, input_size: int, hidden_size: int, *, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.input_size, self.hidden_size = count("input_size", input_size), count("hidden_size", hidden_size)
        self.linear = nn.Linear(input_size, len(self.blocks) * hidden_size, dtype=dtype)

    def coefficients(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """a and b of h = a h + b for inputs (..., d), each (..., H): keep a share, write the rest of the candidate.

        Raises
        ------
        ValueError
            If the inputs have another width, are empty, or hold NaN or infinity.
        """
        z_u, n = self._blocks(x)
        return torch.sigmoid(-z_u), torch.sigmoid(z_u) * n

    def _blocks(self, x: Tensor) -> tuple[Tensor, ...]:
        if x.ndim < 2 or x.shape[-1] != self.input_size or x.numel() == 0 or not torch.isfinite(x).all():
            raise ValueError(f"x has shape {tuple(x.shape)}, or holds NaN or infinity; it must be finite, (..., {self.input_size})")
        return self.linear(x).chunk(len(self.blocks), dim=-1)

    def step(self, x: Tensor, state: Tensor) -> Tensor:
        """The next state (B, H) from one input (B, d) and the state before it: the form for use."""
        a, b = self.coefficients(x)
        return a * state + b

    def forward(self, x: Tensor, state: Tensor | None = None, *, way: str = "tree") -> tuple[Tensor, Tensor]:
        """States (B, T, H) and the last one (B, H), all steps together by a scan, or by `way="loop"`: the form for training."""
        if x.ndim != 3:
            raise ValueError(f"x has shape {tuple(x.shape)}; it must be (B, T, {self.input_size})")
        states = recur(*self.coefficients(x), state, way=way)
        return states, states[:, -1]


class MinLSTM(MinGRU):
    """An LSTM without output gate, without tanh, and with gates that read the input only and share out one whole."""

    blocks = ("forget", "input", "candidate")

    def coefficients(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """a = f / (f + i) and b = i / (f + i) n, each (..., H); computed as a sigmoid of log f - log i, never as 0 / 0."""
        z_f, z_i, n = self._blocks(x)
        lead = nn.functional.logsigmoid(z_f) - nn.functional.logsigmoid(z_i)
        return torch.sigmoid(lead), torch.sigmoid(-lead) * n
