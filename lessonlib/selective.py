"""A selective recurrence: how much time passes at a step depends on what is read there.

Dimensions as in `lessonlib.linear_recurrence`: B sequences of T steps, inputs of width d, N complex modes, outputs of
width d_out; step sizes are (B, T, 1).
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.linear_recurrence import DiagonalRecurrence, discretise
from lessonlib.scan import WAYS, recur

ONE = math.log(math.e - 1)  # softplus(ONE) = 1


class SelectiveRecurrence(DiagonalRecurrence):
    """The diagonal recurrence with a step size of its own at every step, Delta_t = softplus(w x_t + c).

    One number decides how much time passes between two inputs, for all modes alike. Where Delta_t is 0 the state is
    held and the input is not written; where it is large the state is forgotten and the input takes its place. This is
    the selection of Mamba (Gu and Dao 2023, section 3.2) reduced to its step size; there B and C depend on the input
    as well, and every channel has a step size of its own.

    Parameters
    ----------
    input_size, output_size, modes, options
        As for `DiagonalRecurrence`, whose weights are drawn first; then w is drawn uniformly within 1 / sqrt(d).
    selective : bool
        False leaves w out: the step size is then one trained number, the same at every step.
    """

    def __init__(self, input_size: int, output_size: int, modes: int = 64, *, selective: bool = True, **options: Any) -> None:
        super().__init__(input_size, output_size, modes, **options)
        draw = torch.rand(input_size, generator=options.get("generator")).to(self.D)
        self.w = nn.Parameter((2 * draw - 1) / math.sqrt(input_size)) if selective else None
        self.c = nn.Parameter(self.D.new_tensor(ONE))

    def steps(self, x: Tensor) -> Tensor:
        """Step sizes Delta_t, (B, T, 1); every one is 1 where w x_t = 0 at the start of training."""
        return F.softplus(self.c + (x @ self.w if self.w is not None else x.new_zeros(x.shape[:2])))[..., None]

    def coefficients(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """a_t and b_t of h_t = a_t h_{t-1} + b_t (gamma B_in x_t), by zero-order hold, each (B, T, N)."""
        return discretise(self.log_eigenvalues(), self.steps(x))

    def states(self, x: Tensor, *, way: str = "loop") -> Tensor:
        """States (B, T, N), by loop or by scan; a kernel for the FFT does not exist where the steps differ.

        Raises
        ------
        ValueError
            If the inputs do not fit, or the way is unknown.
        """
        if way not in WAYS:
            raise ValueError(f"way is {way!r}; a selective recurrence has no fixed kernel, so it must be one of {', '.join(WAYS)}")
        u = self.drive(x)
        a, b = self.coefficients(x)
        return recur(a, b * u, way=way)

    def last(self, x: Tensor) -> Tensor:
        """The output at the last step alone, (B, d_out), as a weighted sum over time.

        All modes share one clock. With s_t the time that passes after step t, step t enters with
        exp(lambda s_t) b_t = (exp(lambda s_{t-1}) - exp(lambda s_t)) / lambda.
        """
        u, log_a, passing = self.drive(x), self.log_eigenvalues(), self.steps(x)
        left = F.pad(passing.flip(1).cumsum(1).flip(1), (0, 0, 0, 1))        # s_0, ..., s_T = 0, shape (B, T + 1, 1)
        decayed = torch.exp(log_a * left)
        return self.read(((decayed[:, :-1] - decayed[:, 1:]) * u).sum(1) / log_a, x[:, -1])
