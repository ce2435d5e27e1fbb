"""A model whose next-token probabilities are a table over all beginnings, and searches of it by plain enumeration."""

from __future__ import annotations

import itertools
import math

import torch


class Table:
    """Random probabilities of the next token for every beginning of up to `steps` tokens, one table a row.

    The state is the number of a beginning, and the row it belongs to; `end` is the last token.
    """

    def __init__(self, rows, vocabulary, steps, *, seed=0, forbidden=0.0, scale=1.5):
        draw = torch.Generator().manual_seed(seed)
        self.rows, self.vocabulary, self.steps, self.end = rows, vocabulary, steps, vocabulary - 1
        beginnings = sum(vocabulary**t for t in range(steps + 1))
        self.logits = scale * torch.randn(rows, beginnings, vocabulary, generator=draw, dtype=torch.float64)
        hidden = torch.rand(rows, beginnings, vocabulary, generator=draw) < forbidden
        hidden[..., 0] = False  # something is always possible, and not only the end
        self.logits[hidden] = -torch.inf

    def start(self):
        """Tokens and state before the first step."""
        return torch.zeros(self.rows, dtype=torch.long), (torch.arange(self.rows), torch.full((self.rows,), -1))

    def step(self, tokens, state):
        row, beginning = state
        beginning = torch.where(beginning < 0, 0, self.vocabulary * beginning + tokens + 1)  # children of n: n V + 1, ...
        inside = beginning.clamp(max=self.logits.shape[1] - 1)  # rows that have ended run on; nothing looks at them
        return self.logits[row, inside], (row, beginning)

    def log_probs(self, row, prefix):
        """ln p of each next token after `prefix`, by the definition of a softmax."""
        number = 0
        for token in prefix:
            number = self.vocabulary * number + token + 1
        logits = self.logits[row, number].tolist()
        total = sum(math.exp(x) for x in logits)
        return [math.log(math.exp(x) / total) if x > -math.inf else -math.inf for x in logits]

    def outputs(self, row, min_length=0):
        """Every possible output with its ln p: those that end, and those that are cut after `steps` tokens."""
        ended, cut = {}, {}
        for t in range(self.steps + 1):
            for body in itertools.product(range(self.end), repeat=t):
                total = sum(self.log_probs(row, body[:i])[token] for i, token in enumerate(body))
                if t == self.steps:
                    cut[body] = total
                elif t >= min_length:
                    ended[*body, self.end] = total + self.log_probs(row, body)[self.end]
        keep = (lambda found: {y: s for y, s in found.items() if s > -math.inf})
        return keep(ended), keep(cut)


def divisor(length, alpha, offset):
    return ((offset + length) / (offset + 1)) ** alpha


def plain_beam_search(table, row, size, alpha, offset, min_length):
    """Beam search as it is told: extend, keep the best, set the ended ones aside, go on to the last step."""
    live, aside, kept = [((), 0.0)], [], []
    for t in range(table.steps):
        grown = [(prefix + (token,), total + lp) for prefix, total in live for token, lp in enumerate(table.log_probs(row, prefix))
                 if lp > -math.inf and not (token == table.end and t < min_length)]
        grown.sort(key=lambda pair: -pair[1])
        kept.append(grown[:size])
        aside += [pair for pair in grown[:size] if pair[0][-1] == table.end]
        live = [pair for pair in grown[:size] if pair[0][-1] != table.end]
    aside = [(y, total, total / divisor(len(y), alpha, offset)) for y, total in aside]
    live = [(y, total, total / divisor(len(y), alpha, offset)) for y, total in live]
    best_first = (lambda found: sorted(found, key=lambda triple: -triple[2]))
    return best_first(aside) + best_first(live), kept
