"""Training an encoder-decoder to reverse digit strings, and what it gets right with and without help.

Dimensions: N strings, B batch, T' target positions of a string (its digits and the end mark).
The constants are the protocol of the lab on reversal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.digit_strings import BOS, VOCABULARY, Strings, draw_strings
from lessonlib.racers import build_with_seed
from lessonlib.seq2seq import EncoderDecoder

BATCH_SIZE = 64
LEARNING_RATE = 3e-3
MAX_NORM = 1.0
SHORTEST, LONGEST = 3, 12


def reverser(seed: int, *, attention: bool = False, packed: bool = True, hidden_size: int = 64,
             summary_size: int | None = None) -> EncoderDecoder:
    """An untrained network for digit strings, its weights drawn from `seed`."""
    return build_with_seed(lambda: EncoderDecoder(VOCABULARY, VOCABULARY, hidden_size=hidden_size, attention=attention,
                                                  packed=packed, summary_size=summary_size), seed)


def forced_loss(network: EncoderDecoder, strings: Strings) -> Tensor:
    """Cross-entropy in nats a token under teacher forcing, mean over the real target positions."""
    logits = network(strings.source, strings.lengths, strings.inputs)
    return F.cross_entropy(logits[strings.real], strings.targets[strings.real])


def training(network: EncoderDecoder, rng: np.random.Generator, *, shortest: int = SHORTEST,
             longest: int = LONGEST) -> Iterator[float]:
    """Train without end: each `next` draws a batch, makes one update with Adam, and yields the loss before it."""
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    while True:
        loss = forced_loss(network, draw_strings(BATCH_SIZE, shortest, longest, rng=rng))
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), MAX_NORM)
        optimiser.step()
        yield loss.item()


class Accuracy(NamedTuple):
    """What a network gets right on strings of one length, each number a share from 0 to 1.

    Attributes
    ----------
    whole : float
        Strings reversed without an error, the network running free.
    forced, free : float
        Right tokens, when each step reads the true previous token, and when it reads the network's own.
    forced_by_position, free_by_position : Tensor, shape (T',)
        The same for each output position.
    """

    whole: float
    forced: float
    free: float
    forced_by_position: Tensor
    free_by_position: Tensor


@torch.no_grad()
def measure(network: EncoderDecoder, strings: Strings) -> Accuracy:
    """The accuracy on strings of one length, the end mark counted as a token.

    Running free, the network goes on for as many steps as the target has, whatever it emits.
    """
    length = int(strings.lengths[0])
    if not (strings.lengths == length).all():
        raise ValueError(f"strings has lengths from {int(strings.lengths.min())} to {int(strings.lengths.max())}; all must be equal")
    targets = strings.targets[:, :length + 1]                                        # (N, T')
    forced = network(strings.source, strings.lengths, strings.inputs[:, :length + 1]).argmax(-1) == targets
    answers = network.answer(strings.source, strings.lengths, BOS, end=None, max_steps=length + 1)
    free = answers.tokens == targets
    return Accuracy(free.all(1).double().mean().item(), forced.double().mean().item(), free.double().mean().item(),
                    forced.double().mean(0), free.double().mean(0))
