"""Recurrent layers from their equations: plain, LSTM and GRU, with the weights of PyTorch's layers.

Dimensions: B batch, T length, H hidden_size, d input_size, k blocks (one for each gate and one for the candidate).
A layer keeps W_x (k H, d), W_h (k H, H) and, as PyTorch does, two biases b_x and b_h of length k H. Inputs are
(B, T, d), states (B, H). Blocks stand in PyTorch's order, the `blocks` of each class.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from lessonlib.arguments import count, finite_sequences

State = Any  # h of shape (B, H), or (h, c) for an LSTM
THEIRS = {"RNN": (nn.RNN, nn.RNNCell), "LSTM": (nn.LSTM, nn.LSTMCell), "GRU": (nn.GRU, nn.GRUCell)}


class RecurrentLayer(nn.Module):
    """What the layers share: their weights, where these come from, and the loop over time.

    Parameters
    ----------
    input_size, hidden_size : int
        Widths d and H.
    generator : torch.Generator, optional
        Draws every weight uniformly between plus and minus 1/sqrt(H), PyTorch's distribution; zeros without it.
    dtype : torch.dtype
    """

    blocks: ClassVar[tuple[str, ...]] = ("candidate",)
    mode: ClassVar[str] = "RNN"

    def __init__(self, input_size: int, hidden_size: int, *, generator: torch.Generator | None = None,
                 dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.input_size, self.hidden_size = count("input_size", input_size), count("hidden_size", hidden_size)
        rows, bound = len(self.blocks) * hidden_size, hidden_size**-0.5
        for name, shape in (("W_x", (rows, input_size)), ("W_h", (rows, hidden_size)), ("b_x", (rows,)), ("b_h", (rows,))):
            draw = torch.zeros(shape) if generator is None else (2 * torch.rand(shape, generator=generator) - 1) * bound
            setattr(self, name, nn.Parameter(draw.to(dtype)))

    @classmethod
    def from_torch(cls, module: nn.Module, layer: int = 0, *, reverse: bool = False, **options: Any) -> RecurrentLayer:
        """A copy of one layer and direction of PyTorch's module, or of its cell.

        Parameters
        ----------
        module : nn.RNN, nn.LSTM, nn.GRU or a cell of the same kind
        layer, reverse : int, bool
            Which layer, and which direction of it.
        options
            Passed to the class, such as `reset="before"` for a GRU.
        """
        odd = getattr(module, "nonlinearity", "tanh") != "tanh" or getattr(module, "proj_size", 0)
        if not isinstance(module, THEIRS[cls.mode]) or odd:
            raise ValueError(f"module is {module}; {cls.__name__} takes a {cls.mode} of PyTorch with tanh and without projection")
        suffix = "" if isinstance(module, nn.RNNCellBase) else f"_l{layer}{'_reverse' if reverse else ''}"
        if not hasattr(module, "weight_ih" + suffix):
            raise ValueError(f"layer is {layer}, reverse is {reverse}; {module} has no such layer or direction")
        W_x = getattr(module, "weight_ih" + suffix)
        copy = cls(W_x.shape[1], module.hidden_size, dtype=W_x.dtype, **options)
        names = {"W_x": "weight_ih", "W_h": "weight_hh"} | ({"b_x": "bias_ih", "b_h": "bias_hh"} if module.bias else {})
        with torch.no_grad():
            for name, theirs in names.items():
                getattr(copy, name).copy_(getattr(module, theirs + suffix))
        return copy

    def zero_state(self, batch: int) -> State:
        """The state before the first step: zeros of shape (B, H)."""
        return self.W_h.new_zeros(batch, self.hidden_size)

    def step(self, x: Tensor, state: State) -> State:
        """One step of the plain network, h = tanh(W_x x + W_h h + b), Elman (1990)."""
        return torch.tanh(x @ self.W_x.T + self.b_x + state @ self.W_h.T + self.b_h)

    def states(self, x: Tensor, state: State | None = None) -> list[State]:
        """The state after each of the T steps, for inputs (B, T, d).

        Raises
        ------
        ValueError
            If the inputs have another shape, are empty, or hold NaN or infinity.
        """
        x = finite_sequences("x", x, self.input_size)
        state, found = self.zero_state(len(x)) if state is None else state, []
        for x_t in x.unbind(1):
            state = self.step(x_t, state)
            found.append(state)
        return found

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Hidden states (B, T, H) and the final state, as PyTorch's layers return them with `batch_first`."""
        found = self.states(x, state)
        return torch.stack([s[0] if isinstance(s, tuple) else s for s in found], dim=1), found[-1]


class LSTMLayer(RecurrentLayer):
    """Long short-term memory with a forget gate (Hochreiter and Schmidhuber 1997, Gers et al. 2000)."""

    blocks = ("input", "forget", "candidate", "output")
    mode = "LSTM"

    def zero_state(self, batch: int) -> State:
        """Hidden state and cell state, zeros of shape (B, H) each."""
        return super().zero_state(batch), super().zero_state(batch)

    def gates(self, x: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        """Input gate, forget gate, candidate and output gate, (B, H) each."""
        z = x @ self.W_x.T + h @ self.W_h.T + self.b_x + self.b_h   # (B, 4H)
        z_i, z_f, z_g, z_o = z.chunk(4, dim=-1)                     # PyTorch's order
        return torch.sigmoid(z_i), torch.sigmoid(z_f), torch.tanh(z_g), torch.sigmoid(z_o)

    def step(self, x: Tensor, state: State) -> State:
        """One step: the new hidden state and the new cell state."""
        h, c = state
        i, f, g, o = self.gates(x, h)
        c = f * c + i * g               # keep a part of the old, add a part of the new
        h = o * torch.tanh(c)           # show a part of the memory
        return h, c

    def cell_jacobian(self, x: Tensor, c: Tensor, o: Tensor) -> tuple[Tensor, Tensor]:
        """d c_t / d c_{t-1} in two parts, (H, H) each: the direct one, diag(f), and the one through h_{t-1}.

        Parameters
        ----------
        x, c, o : Tensor, shapes (d,), (H,), (H,)
            Input of step t, and cell state and output gate of step t - 1; the latter is held fixed.
        """
        i, f, g, _ = self.gates(x, o * torch.tanh(c))
        W_i, W_f, W_g, _ = self.W_h.chunk(4)
        d_h = (c * f * (1 - f))[:, None] * W_f + (g * i * (1 - i))[:, None] * W_i + (i * (1 - g**2))[:, None] * W_g
        return torch.diag(f), d_h * (o * (1 - torch.tanh(c) ** 2))


class GRULayer(RecurrentLayer):
    """Gated recurrent unit (Cho et al. 2014), in the four forms found in papers and libraries.

    Parameters
    ----------
    reset : {"after", "before"}
        Whether the reset gate multiplies the recurrent product (PyTorch, cuDNN) or the state that enters it.
    update : {"keep", "replace"}
        Whether the update gate multiplies the old state (PyTorch) or the candidate.
    """

    blocks = ("reset", "update", "candidate")
    mode = "GRU"

    def __init__(self, input_size: int, hidden_size: int, *, reset: str = "after", update: str = "keep", **options: Any) -> None:
        super().__init__(input_size, hidden_size, **options)
        if reset not in ("after", "before") or update not in ("keep", "replace"):
            raise ValueError(f"reset is {reset!r} and update is {update!r}; reset is 'after' or 'before', update 'keep' or 'replace'")
        self.reset, self.update = reset, update

    def step(self, x: Tensor, state: State) -> State:
        """One step: the new state, between the old one and the candidate in every element."""
        from_x, h = x @ self.W_x.T + self.b_x, state                          # (B, 3H), (B, H)
        W_r, W_u, W_n = self.W_h.chunk(3)
        b_r, b_u, b_n = self.b_h.chunk(3)
        x_r, x_u, x_n = from_x.chunk(3, dim=-1)
        r = torch.sigmoid(x_r + h @ W_r.T + b_r)
        u = torch.sigmoid(x_u + h @ W_u.T + b_u)
        recurrent = r * (h @ W_n.T + b_n) if self.reset == "after" else (r * h) @ W_n.T + b_n
        n = torch.tanh(x_n + recurrent)
        keep = u if self.update == "keep" else 1 - u
        return keep * h + (1 - keep) * n


def run_both_ways(ahead: RecurrentLayer, behind: RecurrentLayer, x: Tensor) -> Tensor:
    """States (B, T, 2H) of a bidirectional layer: at each step, the past read forwards and the future read backwards."""
    return torch.cat([ahead(x)[0], behind(x.flip(1))[0].flip(1)], dim=-1)
