"""Delayed recall: name the first symbol of a sequence after `lag` blanks; four networks on it, and their training.

Dimensions: B sequences of lag + 1 steps, V = 8 symbols (ids 0 to 7), the blank is id 8, distractors are ids 9 to 16.
Logits are (B, V), read at the last step.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.arguments import count
from lessonlib.gate_biases import set_forget_bias
from lessonlib.linear_recurrence import DiagonalRecurrence
from lessonlib.racers import build_with_seed

SYMBOLS, BLANK, DISTRACTORS = 8, 8, 8
WIDTH, STATE = 16, 64
BATCH_SIZE, LEARNING_RATE, MAX_NORM = 64, 3e-3, 1.0
SOLVED, WINDOW = 0.05, 10            # the mean loss that counts as solved, and the updates that it is taken over
TEST_ROWS, TEST_SEED = 1000, 12345
KINDS = ("rnn", "lstm", "linear")


def draw_firsts(rows: int, generator: torch.Generator) -> Tensor:
    """The symbols to be recalled, uniform, shape (rows,)."""
    return torch.randint(0, SYMBOLS, (count("rows", rows),), generator=generator)


def sequences(firsts: Tensor, lag: int, distractors: torch.Generator | None = None) -> Tensor:
    """Ids (B, lag + 1): the symbol, then blanks, or uniform draws of the distractors where a generator is given."""
    if firsts.ndim != 1 or not len(firsts) or firsts.min() < 0 or firsts.max() >= SYMBOLS:
        raise ValueError(f"firsts is {firsts}; it must hold one or more ids from 0 to {SYMBOLS - 1}")
    shape = (len(firsts), count("lag", lag))
    rest = (torch.full(shape, BLANK) if distractors is None
            else torch.randint(BLANK + 1, BLANK + 1 + DISTRACTORS, shape, generator=distractors))
    return torch.cat([firsts[:, None], rest], 1)


class RecallNetwork(nn.Module):
    """Embedding of width 16, a core of width 64, and a linear read-out of its last step.

    Parameters
    ----------
    kind : {"rnn", "lstm", "linear"}
        PyTorch's RNN or LSTM, or the diagonal recurrence of 64 modes followed by a GELU.
    forget_bias : float, optional
        Of the LSTM.
    vocabulary : int
        Ids that the embedding holds.
    ring : (float, float)
        Smallest and largest modulus of the diagonal recurrence at the start.
    """

    def __init__(self, kind: str, forget_bias: float | None = None, vocabulary: int = BLANK + 1,
                 ring: tuple[float, float] = (0.9, 0.999)) -> None:
        super().__init__()
        if kind not in KINDS:
            raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")
        self.embedding = nn.Embedding(count("vocabulary", vocabulary), WIDTH)
        self.core = (DiagonalRecurrence(WIDTH, STATE, STATE, ring=ring) if kind == "linear"
                     else {"rnn": nn.RNN, "lstm": nn.LSTM}[kind](WIDTH, STATE, batch_first=True))
        self.readout = nn.Linear(STATE, SYMBOLS)
        if forget_bias is not None:
            set_forget_bias(self.core, forget_bias)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B, V) after the last step."""
        x = self.embedding(ids)
        last = F.gelu(self.core.last(x)) if isinstance(self.core, DiagonalRecurrence) else self.core(x)[0][:, -1]
        return self.readout(last)


def batch_loss(network: RecallNetwork, firsts: Tensor, lag: int) -> Tensor:
    """Mean cross-entropy of a batch with blanks, from one row a symbol: equal rows have equal losses.

    A batch of 64 holds at most 8 different sequences. The mean over the batch is the mean over these, each weighted
    with its share, and so is its gradient; the computation shrinks to an eighth.
    """
    share = torch.bincount(firsts, minlength=SYMBOLS) / len(firsts)
    every = torch.arange(SYMBOLS)
    return (share * F.cross_entropy(network(sequences(every, lag)), every, reduction="none")).sum()


@dataclass(frozen=True)
class Run:
    """A finished training run: test accuracy (0 to 1), update at which it was solved or None, losses in nats, network."""

    accuracy: float
    solved: int | None
    losses: list[float]
    network: RecallNetwork

    def left_plateau(self, level: float) -> int | None:
        """The first update at which the mean of the last ten losses is below `level`, or None."""
        return first_below(self.losses, level)


def first_below(losses: list[float], level: float) -> int | None:
    """The first update from the tenth on at which the mean of the last ten losses is below `level`, or None."""
    return next((end for end in range(WINDOW, len(losses) + 1) if sum(losses[end - WINDOW:end]) < WINDOW * level), None)


def train_recall(kind: str, lag: int, *, forget_bias: float | None = None, seed: int = 0, updates: int = 400,
                 distractors: bool = False, ring: tuple[float, float] = (0.9, 0.999), until_solved: bool = True,
                 all_rows: bool = False) -> Run:
    """Train one network on delayed recall and test it on 1,000 sequences.

    Parameters
    ----------
    seed : int
        Of the weights; batches are drawn with the seed after it.
    updates : int
        Most updates of AdamW, 64 sequences each, the gradient clipped at a norm of 1.
    distractors : bool
        Random distractors instead of blanks.
    ring : (float, float)
        Of the diagonal recurrence, as for `RecallNetwork`.
    until_solved : bool
        End the run at the update that solves the task; otherwise it makes all its updates.
    all_rows : bool
        Compute every sequence of a batch, equal ones too; always so with distractors.
    """
    network = build_with_seed(lambda: RecallNetwork(kind, forget_bias, BLANK + 1 + DISTRACTORS * distractors, ring), seed)
    generator = torch.Generator().manual_seed(seed + 1)
    optimiser = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, fused=True)
    losses: list[float] = []
    solved = None
    while len(losses) < count("updates", updates) and not (until_solved and solved):
        firsts = draw_firsts(BATCH_SIZE, generator)
        loss = (F.cross_entropy(network(sequences(firsts, lag, generator if distractors else None)), firsts)
                if distractors or all_rows else batch_loss(network, firsts, lag))
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), MAX_NORM)
        optimiser.step()
        losses.append(loss.item())
        if solved is None and len(losses) >= WINDOW and sum(losses[-WINDOW:]) < WINDOW * SOLVED:
            solved = len(losses)
    return Run(recall_accuracy(network, lag, distractors=distractors), solved, losses, network)


@torch.no_grad()
def recall_accuracy(network: RecallNetwork, lag: int, *, distractors: bool = False) -> float:
    """Share of 1,000 fixed test sequences whose first symbol is named."""
    generator = torch.Generator().manual_seed(TEST_SEED)
    firsts = draw_firsts(TEST_ROWS, generator)
    if distractors:
        return (network(sequences(firsts, lag, generator)).argmax(-1) == firsts).double().mean().item()
    return named(network, lag)[firsts].double().mean().item()


@torch.no_grad()
def named(network: RecallNetwork, lag: int) -> Tensor:
    """Which of the 8 symbols are named after `lag` blanks, truth values of shape (V,); no other sequences exist."""
    every = torch.arange(SYMBOLS)
    return network(sequences(every, lag)).argmax(-1) == every
