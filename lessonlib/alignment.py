"""Telegrams rewritten from one word order into another, and a decoder with attention that learns the rewriting.

Dimensions: B telegrams of one length S, V = 16 words, E width of an embedding, H width of a state. A word is a
qualifier (ids 0 to 7) or a device (8 to 15). The target is the source with every qualifier that stands before a
device moved behind it, so each target word has a known place in the source. Telegrams of one length make a batch,
so there is no padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.arguments import count
from lessonlib.attention import AdditiveAttention

QUALIFIERS, WORDS, START = 8, 16, 16  # ids below QUALIFIERS are qualifiers; START is the first input of the decoder
SHORTEST, LONGEST = 4, 10
BATCH_SIZE, LEARNING_RATE, MAX_NORM = 64, 1e-2, 1.0


class Telegrams(NamedTuple):
    """Sources, targets, and for each target word its place in the source, all (B, S)."""

    source: Tensor
    target: Tensor
    places: Tensor


def rewritten(source: Tensor) -> Telegrams:
    """The target of every source, shape (B, S), with the place in the source that each target word comes from.

    Pairs cannot overlap, since no word is a qualifier and a device, so the order of exchanging does not matter.
    """
    if source.ndim != 2 or source.is_floating_point() or source.numel() == 0 or source.min() < 0 or source.max() >= WORDS:
        raise ValueError(f"source has shape {tuple(source.shape)} and type {source.dtype}; it must be (B, S), not empty, "
                         f"with integers from 0 to {WORDS - 1}")
    device = source >= QUALIFIERS
    first = torch.zeros_like(device)                                   # a qualifier with a device behind it
    first[:, :-1] = ~device[:, :-1] & device[:, 1:]
    places = torch.arange(source.shape[1]) + first.long() - first.roll(1, 1).long()
    return Telegrams(source, source.gather(1, places), places)


def draw_telegrams(rows: int, length: int, generator: torch.Generator) -> Telegrams:
    """Telegrams of `length` words, every word as probable as another."""
    return rewritten(torch.randint(WORDS, (count("rows", rows), count("length", length)), generator=generator))


class Rewriter(nn.Module):
    """Bidirectional LSTM encoder, LSTM decoder, additive attention from the current decoder state.

    The decoder's own recurrence reads the words that were written, not the contexts, as in Luong et al. (2015)
    without input feeding. So all its states, and all contexts, are computed at once in training.

    Parameters
    ----------
    hidden_size : int
        H of each direction of the encoder; decoder and attention have 2 H.
    """

    def __init__(self, hidden_size: int = 24, embedding_size: int = 16) -> None:
        super().__init__()
        wide = 2 * count("hidden_size", hidden_size)
        self.embedding = nn.Embedding(WORDS + 1, count("embedding_size", embedding_size))
        self.encoder = nn.LSTM(embedding_size, hidden_size, batch_first=True, bidirectional=True)
        self.decoder = nn.LSTM(embedding_size, wide, batch_first=True)
        self.attention = AdditiveAttention(wide, wide, wide)
        self.readout = nn.Linear(2 * wide, WORDS)

    def forward(self, telegrams: Telegrams) -> tuple[Tensor, Tensor]:
        """Logits of each target word, given those before it, (B, S, V), and weights (B, S, S): target by source."""
        annotations, last = self.encoder(self.embedding(telegrams.source))                        # (B, S, 2 H)
        target = telegrams.target
        written = torch.cat([torch.full_like(target[:, :1], START), target[:, :-1]], dim=1)
        start = tuple(torch.cat([part[0], part[1]], dim=1)[None] for part in last)                # h and c, (1, B, 2 H)
        states, _ = self.decoder(self.embedding(written), start)
        context, weights = self.attention(states, annotations)
        return self.readout(torch.cat([states, context], dim=-1)), weights


def train_rewriter(network: Rewriter, *, updates: int, generator: torch.Generator) -> Rewriter:
    """Train with Adam on the cross-entropy of the target words; each batch is fresh and has a length of its own.

    The learning rate falls along half a cosine. Nobody says where to look.
    """
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, count("updates", updates))
    for _ in range(updates):
        length = int(torch.randint(SHORTEST, LONGEST + 1, (), generator=generator))
        telegrams = draw_telegrams(BATCH_SIZE, length, generator)
        loss = F.cross_entropy(network(telegrams)[0].flatten(0, 1), telegrams.target.flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), MAX_NORM)
        optimiser.step()
        schedule.step()
    return network


@torch.no_grad()
def score_rewriter(network: Rewriter, batches: Sequence[Telegrams]) -> tuple[float, float, float]:
    """Shares of the target words: written rightly; with the largest weight on their own source place; mean weight there."""
    found = []
    for telegrams in batches:
        logits, weights = network(telegrams)
        there = weights.gather(2, telegrams.places[..., None])[..., 0]
        hits = (logits.argmax(-1) == telegrams.target, weights.argmax(-1) == telegrams.places, there)
        found.append(torch.stack([part.double().flatten() for part in hits]))
    if not found:
        raise ValueError("batches is empty; it must hold telegrams of at least one length")
    return tuple(torch.cat(found, dim=1).mean(1).tolist())
