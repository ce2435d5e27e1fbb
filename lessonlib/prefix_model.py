"""A model of outputs given as a table: the probability of each next symbol after each beginning. Small enough to enumerate.

The last of its symbols ends an output. After a beginning that the table does not hold, the end is certain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from lessonlib.sampling import checked_probabilities

TOY = {"": (0.50, 0.40, 0.10),  # the worked example of the chapter on encoders and decoders
       "a": (0.38, 0.34, 0.28), "b": (0.80, 0.12, 0.08),
       "aa": (0.50, 0.30, 0.20), "ab": (0.06, 0.04, 0.90), "ba": (0.25, 0.30, 0.45), "bb": (0.40, 0.30, 0.30)}


class PrefixModel:
    """The table as a step function for `lessonlib.decoding` and `lessonlib.beam_search`.

    Parameters
    ----------
    symbols : str
        One character a symbol, the end last, such as `"ab."`.
    table : mapping from str to sequence of float
        For each beginning, the empty one included, the probabilities of the symbols in their order. Every beginning
        needs its own beginnings in the table.
    """

    def __init__(self, symbols: str, table: Mapping[str, Sequence[float]]) -> None:
        if len(symbols) < 2 or len(set(symbols)) < len(symbols):
            raise ValueError(f"symbols is {symbols!r}; it must hold at least two different characters")
        letters = set(symbols[:-1])
        for prefix, row in table.items():
            if len(row) != len(symbols) or not letters.issuperset(prefix) or (prefix and prefix[:-1] not in table):
                raise ValueError(f"table has {prefix!r} with {len(row)} probabilities; a beginning is made of {symbols[:-1]!r}, "
                                 f"stands after its own beginning, and has {len(symbols)} probabilities")
            checked_probabilities(row)
        if "" not in table:
            raise ValueError("table lacks the empty beginning")
        self.symbols, self.table, self.end = symbols, dict(table), len(symbols) - 1
        self.steps = 2 + max(map(len, table))  # letters of the longest output, and its end
        self._number_prefixes()

    def _number_prefixes(self) -> None:
        """Number 0 is before the start, 1 the empty beginning, the last one any beginning without an entry."""
        numbers = {prefix: i + 1 for i, prefix in enumerate(sorted(self.table, key=len))}
        other, size = len(numbers) + 1, len(self.symbols)
        certain = [0.0] * self.end + [1.0]
        rows = [certain, *(self.table[prefix] for prefix in numbers), certain]
        self._log_probs = torch.tensor(rows, dtype=torch.float64).log()
        moves = [[1] * size, *([numbers.get(p + s, other) for s in self.symbols] for p in numbers), [other] * size]
        self._moves = torch.tensor(moves)

    def start(self, rows: int = 1) -> tuple[Tensor, Tensor]:
        """State and first tokens of `rows` searches, to be passed on as `state, start`."""
        return torch.zeros(rows, dtype=torch.long), torch.zeros(rows, dtype=torch.long)

    def step(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """The step function: ln p of the next symbol (B, V), and the new state."""
        state = self._moves[state, tokens]
        return self._log_probs[state], state

    def text(self, tokens: Tensor) -> str:
        """Tokens (T,) as a string."""
        return "".join(self.symbols[token] for token in tokens.tolist())

    def probability(self, text: str) -> float:
        """Probability that an output begins with `text`; of the output itself where `text` ends with the end symbol."""
        p = 1.0
        for i, symbol in enumerate(text):
            row = self.table.get(text[:i], (0.0,) * self.end + (1.0,))
            p *= row[self.symbols.index(symbol)]
        return p

    def outputs(self) -> dict[str, float]:
        """Every finished output of positive probability and its probability, the most probable first."""
        letters, end = self.symbols[:-1], self.symbols[-1]
        bodies = {"", *(p + s for p in self.table for s in letters)}
        found = {body + end: self.probability(body + end) for body in sorted(bodies)}
        return dict(sorted(((y, p) for y, p in found.items() if p > 0), key=lambda pair: -pair[1]))
