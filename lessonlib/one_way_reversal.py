"""Digit strings of one length, reversed by a decoder that has one state, or also looks back at the encoder's states.

Dimensions: B batch, N test strings, L digits in a string (steps of the encoder and of the decoder), H hidden_size,
E embedding_size. The encoder reads forwards only. There is no end mark, since the length is fixed. The constants are
the protocol of the lab on reversal at length.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from lessonlib.arguments import count
from lessonlib.racers import build_with_seed

DIGITS = 10
BEGIN = 10  # what the decoder reads first
BATCH_SIZE, TEST_SIZE = 64, 1000
TEST_SEED = 10_000  # the test strings of seed s come from this plus s


class OneWayReverser(nn.Module):
    """A GRU reads the digits, a GRU cell writes them backwards (Sutskever et al. 2014; Bahdanau et al. 2015, simplified).

    Parameters
    ----------
    attention : bool
        Whether each step of the decoder also reads a weighted mean of all encoder states.
    hidden_size, embedding_size : int
        H and E.

    Notes
    -----
    Both kinds own the layers of the attention, and one kind never uses them, as in the experiment that the lab repeats.
    """

    def __init__(self, attention: bool, hidden_size: int = 128, embedding_size: int = 32) -> None:
        super().__init__()
        H, E = count("hidden_size", hidden_size), count("embedding_size", embedding_size)
        self.attending = attention
        self.embedding = nn.Embedding(DIGITS + 1, E)
        self.reader = nn.GRU(E, H, batch_first=True)
        self.writer = nn.GRUCell(E + H * attention, H)
        self.from_state = nn.Linear(H, H)
        self.from_annotation = nn.Linear(H, H)
        self.scorer = nn.Linear(H, 1, bias=False)
        self.output = nn.Linear(H, DIGITS)

    def read(self, strings: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The state after the last digit of strings (B, L), the state after each, and what the scores need of these."""
        annotations, last = self.reader(self.embedding(strings))                      # (B, L, H), (1, B, H)
        return last[0], annotations, self.from_annotation(annotations)                # (B, H), (B, L, H), (B, L, H)

    def look(self, state: Tensor, annotations: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        """The weighted mean of the annotations, (B, H), and the weights, (B, L), for states (B, H)."""
        match = torch.tanh(keys + self.from_state(state).unsqueeze(1))                # (B, L, H)
        weights = self.scorer(match).softmax(1)                                       # (B, L, 1)
        return (weights * annotations).sum(1), weights.squeeze(2)

    def write(self, token: Tensor, state: Tensor, annotations: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        """One step of the decoder, which reads a token (B,): logits (B, 10) of the next digit, and the new state."""
        seen = self.embedding(token)                                                  # (B, E)
        if self.attending:
            seen = torch.cat([seen, self.look(state, annotations, keys)[0]], 1)       # (B, E + H)
        state = self.writer(seen, state)
        return self.output(state), state

    def forward(self, strings: Tensor) -> Tensor:
        """Teacher forcing: logits (B, L, 10) when the decoder reads the true previous digit."""
        (state, *memory), logits = self.read(strings), []
        for token in decoder_inputs(strings).unbind(1):
            answer, state = self.write(token, state, *memory)
            logits.append(answer)
        return torch.stack(logits, 1)

    @torch.no_grad()
    def answer(self, strings: Tensor) -> Tensor:
        """Free running: digits (B, L), each the most probable one after the network's own."""
        (state, *memory), written = self.read(strings), [torch.full((len(strings),), BEGIN)]
        for _ in range(strings.shape[1]):
            logits, state = self.write(written[-1], state, *memory)
            written.append(logits.argmax(1))
        return torch.stack(written[1:], 1)

    @torch.no_grad()
    def alignment(self, strings: Tensor) -> Tensor:
        """Attention weights under teacher forcing, (B, L, L): a row for each digit written, a column for each read."""
        if not self.attending:
            raise ValueError("attention is False; this network has no weights to show")
        (state, *memory), rows = self.read(strings), []
        for token in decoder_inputs(strings).unbind(1):
            rows.append(self.look(state, *memory)[1])
            state = self.write(token, state, *memory)[1]
        return torch.stack(rows, 1)


def decoder_inputs(strings: Tensor) -> Tensor:
    """What the decoder reads under teacher forcing for strings (..., L): the begin token, then all but its last digit."""
    return torch.cat([torch.full_like(strings[..., :1], BEGIN), strings.flip(-1)[..., :-1]], -1)


def draw_digits(rows: int, length: int, generator: torch.Generator) -> Tensor:
    """Random strings, shape (rows, length)."""
    return torch.randint(0, DIGITS, (count("rows", rows), count("length", length)), generator=generator)


def untrained(seed: int, *, attention: bool, hidden_size: int) -> OneWayReverser:
    """A network with the initial weights of a seed."""
    return build_with_seed(lambda: OneWayReverser(attention, hidden_size), seed)


class Right(NamedTuple):
    """What a network gets right running free.

    Attributes
    ----------
    digits, whole : float
        Share of digits, and share of strings without an error.
    by_place : Tensor, shape (L,)
        Share of right digits at each place of the answer.
    """

    digits: float
    whole: float
    by_place: Tensor


def right(network: OneWayReverser, strings: Tensor) -> Right:
    """Answers to strings (N, L), compared with the strings backwards."""
    hits = network.answer(strings) == strings.flip(1)
    return Right(hits.double().mean().item(), hits.all(1).double().mean().item(), hits.double().mean(0))


def tested(network: OneWayReverser, length: int, seed: int) -> Right:
    """`right` on the 1,000 test strings that belong to a seed."""
    return right(network, draw_digits(TEST_SIZE, length, torch.Generator().manual_seed(TEST_SEED + seed)))
