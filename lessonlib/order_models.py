"""Classifiers of short symbol sequences: some count, some look through a window, some read in order.

Dimensions: N sequences, B batch, T length, V vocabulary, H hidden size.
A classifier maps ids (B, T) to one logit a sequence, (B,); a positive logit is the verdict 1, "in good order".
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.reviews import VOCABULARY, Notes, word_counts

BATCH_SIZE = 64
LEARNING_RATE = 0.01
EMBEDDING_SIZE = 16
HIDDEN_SIZE = 32
LAYERS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class CountClassifier(nn.Module):
    """A classifier that sees how often each word occurs, and nothing else.

    Parameters
    ----------
    hidden_size : int, optional
        Width of a hidden layer of rectified units; without it the model is linear.
    """

    def __init__(self, hidden_size: int | None = None) -> None:
        super().__init__()
        if hidden_size is not None and hidden_size < 1:
            raise ValueError(f"hidden_size is {hidden_size}; it must be at least 1, or None")
        words = len(VOCABULARY)
        if hidden_size is None:
            self.layers = nn.Linear(words, 1)
        else:
            self.layers = nn.Sequential(nn.Linear(words, hidden_size), nn.ReLU(),
                                        nn.Linear(hidden_size, 1))

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B,) of ids (B, T)."""
        counts = word_counts(ids)                      # (B, V)
        return self.layers(counts).squeeze(-1)


class PairClassifier(nn.Module):
    """Linear in the counts of ordered pairs of neighbouring words: V squared counts and a bias."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(len(VOCABULARY) ** 2, 1)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B,) of ids (B, T), T at least 2."""
        if ids.ndim != 2 or ids.shape[1] < 2:
            raise ValueError(f"ids has shape {tuple(ids.shape)}; it must be (B, T) with T at least 2")
        pairs = ids[:, :-1] * len(VOCABULARY) + ids[:, 1:]                       # (B, T - 1), 0 to V^2 - 1
        counts = F.one_hot(pairs, len(VOCABULARY) ** 2).sum(1).float()           # (B, V^2)
        return self.layer(counts).squeeze(-1)


class SequenceClassifier(nn.Module):
    """Embed each word, run one recurrent layer, judge by the state after the last word.

    Parameters
    ----------
    kind : str
        `rnn` (plain, tanh), `gru` or `lstm`.
    vocabulary : int
        Number of symbols; the words of the notes where it is not given.
    """

    def __init__(self, kind: str, vocabulary: int = len(VOCABULARY)) -> None:
        super().__init__()
        if kind not in LAYERS:
            raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(LAYERS)}")
        if vocabulary < 1:
            raise ValueError(f"vocabulary is {vocabulary}; it must be at least 1")
        self.embedding = nn.Embedding(vocabulary, EMBEDDING_SIZE)
        self.recurrence = LAYERS[kind](EMBEDDING_SIZE, HIDDEN_SIZE, batch_first=True)
        self.readout = nn.Linear(HIDDEN_SIZE, 1)

    def logits_by_step(self, ids: Tensor) -> Tensor:
        """What the network would answer after each word: logits (B, T) of ids (B, T)."""
        if ids.ndim != 2 or ids.shape[1] < 1:
            raise ValueError(f"ids has shape {tuple(ids.shape)}; it must be (B, T), T at least 1")
        states, _last = self.recurrence(self.embedding(ids))            # (B, T, H)
        return self.readout(states).squeeze(-1)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B,) of ids (B, T), read from the state after the last word."""
        return self.logits_by_step(ids)[:, -1]


class WindowClassifier(nn.Module):
    """A perceptron on a window of fixed length: every position of the window has weights of its own.

    Parameters
    ----------
    vocabulary, length : int
        Number of symbols, and steps of the window.
    hidden_size : int
        Width of the hidden layer.
    """

    def __init__(self, vocabulary: int, length: int, hidden_size: int = 64) -> None:
        super().__init__()
        self.vocabulary, self.length = vocabulary, length
        self.layers = nn.Sequential(nn.Linear(length * vocabulary, hidden_size), nn.ReLU(), nn.Linear(hidden_size, 1))

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B,) of ids (B, length)."""
        if ids.ndim != 2 or ids.shape[1] != self.length:
            raise ValueError(f"ids has shape {tuple(ids.shape)}; it must be (B, {self.length}), the window's length")
        return self.layers(F.one_hot(ids, self.vocabulary).float().flatten(1)).squeeze(-1)


class SharedWindowClassifier(nn.Module):
    """A short window that slides over the sequence with the same weights everywhere; the maximum over time counts.

    Parameters
    ----------
    vocabulary, width : int
        Number of symbols, and steps of the sliding window.
    hidden_size : int
        Number of detectors.
    """

    def __init__(self, vocabulary: int, width: int = 2, hidden_size: int = 64) -> None:
        super().__init__()
        self.vocabulary, self.width = vocabulary, width
        self.detectors = nn.Linear(width * vocabulary, hidden_size)
        self.readout = nn.Linear(hidden_size, 1)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B,) of ids (B, T), T at least the width."""
        if ids.ndim != 2 or ids.shape[1] < self.width:
            raise ValueError(f"ids has shape {tuple(ids.shape)}; it must be (B, T) with T at least {self.width}")
        windows = F.one_hot(ids, self.vocabulary).float().unfold(1, self.width, 1)   # (B, places, V, width)
        found = torch.relu(self.detectors(windows.flatten(2)))                       # (B, places, H)
        return self.readout(found.amax(1)).squeeze(-1)


def train_classifier(model: nn.Module, ids: Tensor, verdicts: Tensor, *, epochs: int,
                     generator: torch.Generator) -> nn.Module:
    """Train with Adam on the binary cross-entropy of the verdicts, and return the model.

    Every epoch visits all sequences once, in a new order and in batches of `BATCH_SIZE`.

    Parameters
    ----------
    ids : Tensor, shape (N, T), int64
    verdicts : Tensor, shape (N,), float32
        0 or 1.
    epochs : int
        Passes over the sequences, at least 1.
    generator : torch.Generator
        Draws the order of the sequences, one permutation an epoch.
    """
    if epochs < 1:
        raise ValueError(f"epochs is {epochs}; it must be at least 1")
    if len(ids) != len(verdicts) or not len(ids):
        raise ValueError(f"ids and verdicts have {len(ids)} and {len(verdicts)} rows; "
                         "they must have as many, and at least 1")
    optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    model.train()
    for _epoch in range(epochs):
        order = torch.randperm(len(ids), generator=generator)
        for rows in order.split(BATCH_SIZE):
            loss = F.binary_cross_entropy_with_logits(model(ids[rows]), verdicts[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model


@torch.no_grad()
def right_answers(model: nn.Module, ids: Tensor, verdicts: Tensor) -> Tensor:
    """Which verdicts (N,) of ids (N, T) the model gets right: shape (N,), bool. It returns to the mode it was in."""
    was_training = model.training
    model.eval()
    right = (model(ids) > 0) == verdicts.bool()
    model.train(was_training)
    return right


def share(marks: Tensor, among: Tensor | None = None) -> float:
    """Share of True among the rows that `among` selects, or among all.

    Raises
    ------
    ValueError
        If no row is selected.
    """
    chosen = marks if among is None else marks[among]
    if not len(chosen):
        raise ValueError("among selects no row; at least one is needed")
    return chosen.double().mean().item()


def accuracy_by_type(model: nn.Module, notes: Notes) -> list[float]:
    """Accuracy on all notes, on those without "not", and on those with it; both kinds must occur."""
    right = right_answers(model, notes.ids, notes.verdicts)
    return [share(right), share(right, ~notes.negated), share(right, notes.negated)]
