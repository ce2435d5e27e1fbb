"""Interpolated n-gram models of characters: counting what followed each context, the shorter contexts mixed in.

A model of order n predicts a character from the n - 1 before it. With N(u) the number of times that a context u was
followed by anything, N(u c) by the character c, V the size of the alphabet, and u' the context without its oldest
character,
    p(c | u) = (N(u c) + alpha p(c | u')) / (N(u) + alpha),    p(c) = (N(c) + alpha) / (N + alpha V).
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray


class NgramModel:
    """Counts of a training text for every order up to `order`.

    Parameters
    ----------
    text : str
    order : int
        The highest order; every lower one can be asked for as well.
    alphabet : str
        All characters that may be asked about; those of the text must be among them.
    alpha : float
        Weight of the next shorter context, in counts; positive.
    """

    def __init__(self, text: str, order: int, alphabet: str, alpha: float = 0.1) -> None:
        missing = sorted(set(text) - set(alphabet))
        if not text or missing or len(set(alphabet)) != len(alphabet):
            raise ValueError(f"text has {len(text)} characters, {missing} not in the alphabet {alphabet!r}; it must not "
                             "be empty, and the alphabet hold each of its characters once")
        if order < 1 or not 0 < alpha < np.inf:
            raise ValueError(f"order is {order}, alpha {alpha}; order must be at least 1, alpha positive and finite")
        self.order, self.alphabet, self.alpha = order, alphabet, alpha
        self.counts: dict[str, Counter[str]] = {}
        for i, character in enumerate(text):
            for length in range(min(i, order - 1) + 1):
                self.counts.setdefault(text[i - length:i], Counter())[character] += 1

    def _checked(self, order: int | None) -> int:
        order = self.order if order is None else order
        if not 1 <= order <= self.order:
            raise ValueError(f"order is {order}; it must be from 1 to {self.order}")
        return order

    def probabilities(self, context: str, order: int | None = None) -> NDArray[np.float64]:
        """Probability of each character of the alphabet after a context, (V,); the order is the model's if not given.

        Of a context longer than order - 1 only its end counts.
        """
        context = context[max(0, len(context) - self._checked(order) + 1):]
        p = np.full(len(self.alphabet), 1 / len(self.alphabet))
        for length in range(len(context) + 1):
            weight = self.alpha * (len(self.alphabet) if length == 0 else 1)
            followed = self.counts.get(context[len(context) - length:])
            if followed is None:                             # never seen: nothing to mix in, nor for longer ones
                break
            seen = np.array([followed[character] for character in self.alphabet], dtype=float)
            p = (seen + weight * p) / (seen.sum() + weight)
        return p

    def losses(self, text: str, order: int | None = None) -> NDArray[np.float64]:
        """-ln p of each character of a text given those before it in the same text, (n,) in nats."""
        reach = self._checked(order) - 1
        values = []
        for i, character in enumerate(text):
            p, context = 1 / len(self.alphabet), text[max(0, i - reach):i]
            for length in range(len(context) + 1):
                weight = self.alpha * (len(self.alphabet) if length == 0 else 1)
                followed = self.counts.get(context[len(context) - length:])
                if followed is None:
                    break
                p = (followed[character] + weight * p) / (followed.total() + weight)
            values.append(p)
        return -np.log(values)
