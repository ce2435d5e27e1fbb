"""An encoder and a decoder for sequences of tokens, with or without attention.

Dimensions: B sequences in a batch, S source positions, T' target positions, H hidden_size, E embedding_size, V tokens
of the target. The encoder is a bidirectional GRU, so its annotations have 2 H numbers; the decoder is a GRU cell.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from lessonlib.arguments import count
from lessonlib.attention import AdditiveAttention
from lessonlib.decoding import Outputs, greedy
from lessonlib.packing import checked_lengths, real_steps, run_packed


class Memory(NamedTuple):
    """What the decoder carries from step to step; every tensor has one row a sequence.

    Attributes
    ----------
    state : Tensor, shape (B, H)
        s_t, after the last token that was read.
    annotations, prepared : Tensor, shapes (B, S, 2 H) and (B, S, H), or None without attention
        The encoder's states, and what the attention computes from them once.
    mask : Tensor, shape (B, S), bool, or None without attention
        True on real source positions.
    weights : Tensor, shape (B, S), or None without attention
        The attention weights of the last step; zero before the first.
    """

    state: Tensor
    annotations: Tensor | None = None
    prepared: Tensor | None = None
    mask: Tensor | None = None
    weights: Tensor | None = None


class EncoderDecoder(nn.Module):
    """Read a sequence, then write another, token by token (Sutskever et al. 2014; Bahdanau et al. 2015).

    Parameters
    ----------
    source_size, target_size : int
        Number of source and of target tokens, padding and marks included.
    embedding_size, hidden_size : int
        E, and H of the encoder's two directions, the decoder and the attention.
    attention : bool
        Whether each step reads a weighted mean of all annotations. Without it, all that the decoder knows of the
        source is its start state.
    packed : bool
        Whether the encoder skips padding. False is a fault, kept so that it can be shown.
    summary_size : int, optional
        Numbers that pass from the encoder to the start state: a linear map squeezes the two last states into so many.
        Without it the start state is computed from all 2 H of them.
    """

    def __init__(self, source_size: int, target_size: int, *, embedding_size: int = 32, hidden_size: int = 64,
                 attention: bool = False, packed: bool = True, summary_size: int | None = None) -> None:
        super().__init__()
        E, H = count("embedding_size", embedding_size), count("hidden_size", hidden_size)
        context = 2 * H if attention else 0
        passed = 2 * H if summary_size is None else count("summary_size", summary_size)
        self.packed = packed
        self.source_embedding = nn.Embedding(count("source_size", source_size), E)
        self.target_embedding = nn.Embedding(count("target_size", target_size), E)
        self.encoder = nn.GRU(E, H, bidirectional=True, batch_first=True)
        self.squeeze = None if summary_size is None else nn.Linear(2 * H, passed, bias=False)
        self.start = nn.Linear(passed, H)
        self.decoder = nn.GRUCell(E + context, H)
        self.output = nn.Linear(H + context, target_size)
        self.attention = AdditiveAttention(H, 2 * H, H) if attention else None

    def encode(self, source: Tensor, lengths: Tensor) -> Memory:
        """Read sources (B, S) of the given lengths: the memory that the decoder starts from."""
        if source.ndim != 2 or len(source) != len(lengths):
            raise ValueError(f"source has shape {tuple(source.shape)} and lengths {len(lengths)} entries; "
                             "they must be (B, S) and B")
        lengths = checked_lengths(lengths, source.shape[1])
        embedded = self.source_embedding(source)                                     # (B, S, E)
        if self.packed:
            annotations, h_n = run_packed(self.encoder, embedded, lengths)           # (B, S, 2 H), (2, B, H)
        else:
            annotations, h_n = self.encoder(embedded)                                # reads the padding as well
        summary = torch.cat([h_n[0], h_n[1]], dim=1)                                 # (B, 2 H)
        if self.squeeze is not None:
            summary = self.squeeze(summary)                                          # (B, summary_size)
        state = torch.tanh(self.start(summary))                                      # (B, H)
        if self.attention is None:
            return Memory(state)
        return Memory(state, annotations, self.attention.prepare(annotations), real_steps(lengths, source.shape[1]),
                      annotations.new_zeros(source.shape))

    def advance(self, embedded: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """Read one embedded target token (B, E): what the output layer sees, (B, H) or (B, 3 H), and the new memory."""
        if self.attention is None:
            state = self.decoder(embedded, memory.state)                             # (B, H)
            return state, memory._replace(state=state)
        context, weights = self.attention(memory.state, memory.annotations, memory.mask, prepared=memory.prepared)
        state = self.decoder(torch.cat([embedded, context], dim=1), memory.state)
        return torch.cat([state, context], dim=1), memory._replace(state=state, weights=weights)

    def step(self, tokens: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """Read one target token a row, (B,): logits of the next, (B, V), and the new memory. A step function."""
        features, memory = self.advance(self.target_embedding(tokens), memory)
        return self.output(features), memory

    def forward(self, source: Tensor, lengths: Tensor, inputs: Tensor) -> Tensor:
        """Teacher forcing: logits (B, T', V) when the decoder reads the given inputs (B, T'), whatever it would have said."""
        memory, features = self.encode(source, lengths), []
        for embedded in self.target_embedding(inputs).unbind(1):
            feature, memory = self.advance(embedded, memory)
            features.append(feature)
        return self.output(torch.stack(features, dim=1))

    @torch.no_grad()
    def answer(self, source: Tensor, lengths: Tensor, start: int, *, end: int | None, max_steps: int) -> Outputs:
        """Free running: greedy outputs, each token fed back as the next input."""
        return greedy(self.step, self.encode(source, lengths), torch.full((len(source),), start), end=end, max_steps=max_steps)

    @torch.no_grad()
    def alignment(self, source: Tensor, lengths: Tensor, inputs: Tensor) -> Tensor:
        """Attention weights (B, T', S) when the decoder reads the given inputs (B, T')."""
        if self.attention is None:
            raise ValueError("attention is False; this network has no weights to show")
        memory, rows = self.encode(source, lengths), []
        for embedded in self.target_embedding(inputs).unbind(1):
            _, memory = self.advance(embedded, memory)
            rows.append(memory.weights)
        return torch.stack(rows, dim=1)
