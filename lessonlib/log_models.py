"""Character models of the maintenance log in PyTorch: training on streams, the loss of a text, and samples.

Dimensions: B streams, T steps, V characters, H hidden size. A state is what the layer of
PyTorch returns: (1, B, H), or a pair of these for an LSTM.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.arguments import count, positive
from lessonlib.character_model import HIDDEN_SIZE, LEARNING_RATE, MAX_NORM, STEPS, STREAMS, as_streams
from lessonlib.gate_biases import set_forget_bias

State = Any
Checked = TypeVar("Checked")
EMBEDDING_SIZE = 32
LAYERS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class LogModel(nn.Module):
    """An embedding, one recurrent layer, and a linear read-out of every state; weights drawn in this order.

    Parameters
    ----------
    kind : {"rnn", "gru", "lstm"}
    vocabulary : int
        Number of characters, V.
    hidden_size : int
        Width of the state, H.
    forget_bias : float, optional
        Effective bias of an LSTM's forget gate; PyTorch's random one where it is not given.
    orthogonal : float, optional
        Makes the recurrent matrix orthogonal, times this number; drawn last.
    """

    def __init__(self, kind: str, vocabulary: int, *, hidden_size: int = HIDDEN_SIZE,
                 forget_bias: float | None = None, orthogonal: float | None = None) -> None:
        super().__init__()
        if kind not in LAYERS:
            raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(LAYERS)}")
        self.embedding = nn.Embedding(count("vocabulary", vocabulary), EMBEDDING_SIZE)
        self.recurrence = LAYERS[kind](EMBEDDING_SIZE, count("hidden_size", hidden_size), batch_first=True)
        self.readout = nn.Linear(hidden_size, vocabulary)
        if forget_bias is not None:
            set_forget_bias(self.recurrence, forget_bias)
        if orthogonal is not None:
            nn.init.orthogonal_(self.recurrence.weight_hh_l0, gain=positive("orthogonal", orthogonal))

    def forward(self, ids: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Logits (B, T, V) of the next character after each of ids (B, T), and the last state."""
        if ids.ndim != 2 or ids.numel() == 0:
            raise ValueError(f"ids has shape {tuple(ids.shape)}; it must be (B, T), B and T at least 1")
        states, state = self.recurrence(self.embedding(ids), state)
        return self.readout(states), state


def detached(state: State) -> State:
    """The same state as a value: the next piece starts from it, and no gradient goes back into the last one."""
    return tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()


def train_log_model(model: LogModel, training: NDArray, updates: int, *, check: Callable[[LogModel], Checked],
                    check_every: int, learning_rate: float = LEARNING_RATE) -> list[Checked]:
    """Truncated backpropagation on parallel streams, as `lessonlib.character_model.train` does it.

    An update reads the next 32 characters of 32 streams; the state goes on, the gradient does not, and the streams start
    again from a state of zero when they are read through. Adam, clipping at a norm of 5.

    Parameters
    ----------
    training : (n,) ids
    updates, check_every : int
        Pieces to learn from, and pieces between two checks.
    check : callable
        What to measure; its answers are returned in order.
    """
    inputs, targets = (torch.as_tensor(part) for part in as_streams(training, STREAMS))
    pieces = inputs.shape[1] // STEPS
    if pieces < 1 or not 1 <= check_every <= updates:
        raise ValueError(f"training has {len(training)} ids, check_every is {check_every} of {updates} updates; a stream "
                         f"must hold {STEPS} ids, and a check come within the updates")
    optimiser = torch.optim.Adam(model.parameters(), lr=positive("learning_rate", learning_rate))
    state, found = None, []
    for update in range(updates):
        start = update % pieces * STEPS
        piece = slice(start, start + STEPS)
        logits, state = model(inputs[:, piece], state if start else None)
        state = detached(state)
        loss = F.cross_entropy(logits.flatten(0, 1), targets[:, piece].flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        optimiser.step()
        if (update + 1) % check_every == 0:
            found.append(check(model))
    return found


@torch.no_grad()
def text_loss(model: LogModel, ids: NDArray) -> float:
    """Mean loss of every character of a text but the first, in nats; one sequence, from a state of zero."""
    ids = torch.as_tensor(ids)
    return F.cross_entropy(model(ids[None, :-1])[0][0], ids[1:]).item()


@torch.no_grad()
def sample_ids(model: LogModel, start: int, n_symbols: int, temperature: float, generator: torch.Generator) -> list[int]:
    """Draw characters one by one by `torch.multinomial`, each fed back as the next input; the state starts at zero.

    `start` is read first and not part of the result.
    """
    count("n_symbols", n_symbols), positive("temperature", temperature)
    symbol, state, drawn = torch.tensor([[start]]), None, []
    for _ in range(n_symbols):
        logits, state = model(symbol, state)
        weights = torch.softmax(logits[0, -1] / temperature, dim=0)
        symbol = torch.multinomial(weights, 1, generator=generator)[None]
        drawn.append(symbol.item())
    return drawn
