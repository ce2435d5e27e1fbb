"""The diagonal complex linear recurrence as a layer, stable by its parameters; and continuous time cut into steps.

Dimensions: B sequences of T steps, inputs of width d, N modes, outputs of width d_out. Inputs are (B, T, d), outputs
(B, T, d_out), states (B, T, N) and complex. One mode is h_t = lambda h_{t-1} + gamma (B_in x_t), as in the Linear
Recurrent Unit of Orvieto et al. (2023); the output is Re(C h_t) + D x_t.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from lessonlib.arguments import count, finite_sequences
from lessonlib.scan import WAYS, last_state, recur, recur_fft

RULES = ("hold", "simplified", "euler", "bilinear")


class DiagonalRecurrence(nn.Module):
    """A layer of N complex modes whose eigenvalues start on a ring inside the unit circle and cannot leave it.

    The eigenvalue of a mode is exp(-exp(nu) + i exp(theta)); its modulus exp(-exp(nu)) is below 1 for every nu.

    Parameters
    ----------
    input_size, output_size, modes : int
        d, d_out and N.
    ring : (float, float)
        Smallest and largest modulus at the start, 0 < smallest < largest < 1; uniform in the squared modulus.
    max_phase : float
        Phases start uniformly between 0 and this angle, in radians.
    generator : torch.Generator, optional
        Draws moduli, phases, then B_in, C (real and imaginary parts) and D; PyTorch's own generator without it.
    """

    def __init__(self, input_size: int, output_size: int, modes: int = 64, *, ring: tuple[float, float] = (0.9, 0.999),
                 max_phase: float = math.pi / 10, generator: torch.Generator | None = None,
                 dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        low, high = ring
        if not 0 < low < high < 1:
            raise ValueError(f"ring is {ring}; it must be 0 < smallest < largest < 1")
        if not 0 < max_phase <= math.pi:
            raise ValueError(f"max_phase is {max_phase}; it must lie above 0 and not above pi")
        self.input_size = count("input_size", input_size)
        N, d, d_out = count("modes", modes), input_size, count("output_size", output_size)

        def parameter(draw: Tensor) -> nn.Parameter:
            return nn.Parameter(draw.to(dtype))

        squared = torch.rand(N, generator=generator) * (high**2 - low**2) + low**2
        self.nu = parameter(torch.log(-0.5 * torch.log(squared)))
        self.theta = parameter(torch.log(max_phase * torch.rand(N, generator=generator)))
        for name, shape, scale in (("B", (N, d), 2 * d), ("C", (d_out, N), N)):
            for part in ("real", "imag"):
                setattr(self, f"{name}_{part}", parameter(torch.randn(shape, generator=generator) / math.sqrt(scale)))
        self.D = parameter(torch.randn(d_out, d, generator=generator) / math.sqrt(d))

    def log_eigenvalues(self) -> Tensor:
        """-exp(nu) + i exp(theta), shape (N,): the eigenvalues per unit of time, were the step a unit of time."""
        return torch.complex(-torch.exp(self.nu), torch.exp(self.theta))

    def moduli(self) -> Tensor:
        """|lambda| of every mode, shape (N,)."""
        return torch.exp(-torch.exp(self.nu))

    def drive(self, x: Tensor) -> Tensor:
        """gamma (B_in x_t), complex (B, T, N); gamma = sqrt(1 - |lambda|^2) keeps the variance of a state at its input's.

        Raises
        ------
        ValueError
            If the inputs have another shape, are empty, or hold NaN or infinity.
        """
        x = finite_sequences("x", x, self.input_size)
        gamma = torch.sqrt(-torch.expm1(-2 * torch.exp(self.nu)))
        real, imag = (x @ (gamma[:, None] * part).T for part in (self.B_real, self.B_imag))
        return torch.complex(real, imag)

    def read(self, states: Tensor, x: Tensor) -> Tensor:
        """Re(C h) + D x, for states (..., N) and inputs (..., d) of the same steps."""
        return states.real @ self.C_real.T - states.imag @ self.C_imag.T + x @ self.D.T

    def states(self, x: Tensor, *, way: str = "loop") -> Tensor:
        """States (B, T, N), by loop, by scan ("doubling", "tree") or by FFT."""
        if way not in (*WAYS, "fft"):
            raise ValueError(f"way is {way!r}; it must be one of {', '.join(WAYS)}, fft")
        u, log_a = self.drive(x), self.log_eigenvalues()
        return recur_fft(log_a, u) if way == "fft" else recur(torch.exp(log_a), u, way=way)

    def forward(self, x: Tensor, *, way: str = "loop") -> Tensor:
        """Outputs (B, T, d_out); the way changes the time it takes, not the result."""
        return self.read(self.states(x, way=way), x)

    def last(self, x: Tensor) -> Tensor:
        """The output at the last step alone, (B, d_out), without the states before it."""
        return self.read(last_state(self.log_eigenvalues(), self.drive(x)), x[:, -1])


def expm1(z: Tensor) -> Tensor:
    """exp(z) - 1 without loss of digits near zero, for real and complex z."""
    if not z.is_complex():
        return torch.expm1(z)
    x, y = z.real, z.imag
    return torch.complex(torch.expm1(x) * torch.cos(y) - 2 * torch.sin(y / 2) ** 2, torch.exp(x) * torch.sin(y))


def discretise(rate: Tensor, step: Tensor | float, rule: str = "hold") -> tuple[Tensor, Tensor]:
    """Coefficients a, b of h_t = a h_{t-1} + b x_t for dh/dt = rate h + x(t), seen at steps of `step` units of time.

    Parameters
    ----------
    rate : Tensor
        Eigenvalues of the continuous system, real or complex, not zero.
    step : Tensor or float
        Delta, from 0 on; it is broadcast against the rates.
    rule : {"hold", "simplified", "euler", "bilinear"}
        Exact for an input that is held over the step (zero-order hold): a = exp(rate Delta), b = (a - 1) / rate.
        The same a with b = Delta, the simplified rule of many implementations. Forward Euler: a = 1 + rate Delta,
        b = Delta. Bilinear (Tustin): both with the mean of the derivative at the two ends.
    """
    step = torch.as_tensor(step, dtype=rate.real.dtype)
    if rule not in RULES:
        raise ValueError(f"rule is {rule!r}; it must be one of {', '.join(RULES)}")
    if rate.numel() == 0 or not torch.isfinite(rate).all() or (rate == 0).any():
        raise ValueError(f"rate is {rate}; it must hold finite numbers other than 0")
    if not torch.isfinite(step).all() or (step < 0).any():
        raise ValueError(f"step is {step}; it must be finite and from 0 on")
    z = rate * step
    if rule == "hold":
        return torch.exp(z), expm1(z) / rate
    if rule == "bilinear":
        return (1 + z / 2) / (1 - z / 2), step / (1 - z / 2)
    return (torch.exp(z) if rule == "simplified" else 1 + z), step.to(z.dtype).expand(z.shape)
