"""Two networks of matched size for the copy task: a GRU and a transformer.

Dimensions: B batch, T length, V vocabulary, H hidden size of the GRU, D width of the transformer.
Ids have shape (B, T), logits (B, T, V).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

Network = TypeVar("Network", bound=nn.Module)


def build_with_seed(make: Callable[[], Network], seed: int) -> Network:
    """Build a network whose initial weights are drawn after seeding PyTorch with `seed`.

    The caller's global generator is left as it was.
    """
    if seed < 0:
        raise ValueError(f"seed is {seed}; it must not be negative")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def parameter_count(network: nn.Module) -> int:
    """Number of trainable numbers in a network."""
    return sum(parameter.numel() for parameter in network.parameters())


def gru_racer_size(vocabulary: int, hidden_size: int) -> int:
    """Parameters of `GRURacer` by formula: V H + 6 H (H + 1) + (H + 1) V."""
    embedding = vocabulary * hidden_size
    gates = 3 * (2 * hidden_size * hidden_size + 2 * hidden_size)  # r, z, n: two matrices, two biases
    return embedding + gates + (hidden_size + 1) * vocabulary


def transformer_racer_size(vocabulary: int, width: int, layers: int, context: int) -> int:
    """Parameters of `TransformerRacer` by formula: V D + context D + layers (12 D^2 + 13 D) + (D + 1) V."""
    attention = 4 * (width * width + width)  # queries, keys, values, output
    feed_forward = 4 * width * width + 4 * width + 4 * width * width + width
    norms = 2 * 2 * width  # a scale and a shift each
    block = attention + feed_forward + norms
    return (vocabulary + context) * width + layers * block + (width + 1) * vocabulary


def _check_ids(ids: Tensor) -> None:
    if ids.ndim != 2 or ids.shape[1] < 1:
        raise ValueError(f"ids has shape {tuple(ids.shape)}; it must be (B, T) with T at least 1")


class GRURacer(nn.Module):
    """Embedding, one GRU layer, and a linear read-out of every state.

    Parameters
    ----------
    vocabulary : int
        Number of token ids, V.
    hidden_size : int
        Numbers in the state and in an embedding, H.
    """

    def __init__(self, vocabulary: int = 32, hidden_size: int = 128) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden_size)
        self.recurrence = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.readout = nn.Linear(hidden_size, vocabulary)

    def states(self, ids: Tensor) -> Tensor:
        """The state after each token, shape (B, T, H)."""
        _check_ids(ids)
        states, _last = self.recurrence(self.embedding(ids))
        return states

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the next token, shape (B, T, V)."""
        return self.readout(self.states(ids))


class TransformerRacer(nn.Module):
    """Token and position embeddings, causal pre-norm blocks, and a linear read-out.

    Parameters
    ----------
    vocabulary : int
        Number of token ids, V.
    width : int
        Numbers at a position, D; the feed-forward layer has 4 D.
    layers, heads : int
        Blocks, and attention heads in each.
    context : int
        Longest input that the learned position embedding covers.
    """

    def __init__(self, vocabulary: int = 32, width: int = 64, layers: int = 2, heads: int = 4,
                 context: int = 32) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        block = nn.TransformerEncoderLayer(d_model=width, nhead=heads, dim_feedforward=4 * width,
                                           dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, num_layers=layers, enable_nested_tensor=False)
        self.readout = nn.Linear(width, vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the next token, shape (B, T, V).

        Raises
        ------
        ValueError
            If the input is longer than the context.
        """
        _check_ids(ids)
        length, context = ids.shape[1], self.positions.num_embeddings
        if length > context:
            raise ValueError(f"ids has {length} columns; the position embedding covers {context}")
        vectors = self.tokens(ids) + self.positions.weight[:length]                       # (B, T, D)
        future = torch.full((length, length), float("-inf"), dtype=vectors.dtype).triu(1)  # hidden from t: t + 1, ...
        return self.readout(self.blocks(vectors, mask=future, is_causal=True))
