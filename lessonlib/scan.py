"""Diagonal linear recurrences h_t = a_t h_{t-1} + u_t by loop, by parallel scan and by FFT, with their gradients.

Dimensions: B sequences of T steps, N modes. Drives u and states h are (B, T, N), the state before the first step is
(B, N), zero where it is not given. Coefficients a are (N,) where they are the same at every step, else (B, T, N) or
(1, T, N). Everything may be real or complex.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lessonlib.arguments import count

WAYS = ("loop", "doubling", "tree")


def _checked(a: Tensor, u: Tensor, h0: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Coefficients (B or 1, T, N), drives and first state of one type, or a ValueError."""
    if u.ndim != 3 or u.numel() == 0 or not torch.isfinite(u).all():
        raise ValueError(f"u has shape {tuple(u.shape)}, or holds NaN or infinity; it must be finite, (B, T, N), and not empty")
    rows, steps, modes = u.shape
    if tuple(a.shape) not in ((modes,), (1, steps, modes), (rows, steps, modes)) or not torch.isfinite(a).all():
        raise ValueError(f"a has shape {tuple(a.shape)}, or holds NaN or infinity; it must be finite, ({modes},) or "
                         f"({rows} or 1, {steps}, {modes})")
    h0 = u.new_zeros(rows, modes) if h0 is None else h0
    if h0.shape != (rows, modes) or not torch.isfinite(h0).all():
        raise ValueError(f"h0 has shape {tuple(h0.shape)}, or holds NaN or infinity; it must be finite, ({rows}, {modes})")
    dtype = torch.promote_types(torch.promote_types(a.dtype, u.dtype), h0.dtype)
    return a.expand(1, steps, modes).to(dtype) if a.ndim == 1 else a.to(dtype), u.to(dtype), h0.to(dtype)


def loop(a: Tensor, u: Tensor) -> Tensor:
    """One step after the other: T rounds of one multiplication and one addition a mode."""
    state, states = u[:, 0], [u[:, 0]]
    for a_t, u_t in zip(a.unbind(1)[1:], u.unbind(1)[1:]):
        state = torch.addcmul(u_t, a_t, state)
        states.append(state)
    return torch.stack(states, 1)


def doubling(a: Tensor, u: Tensor) -> Tensor:
    """Scan in ceil(log2 T) rounds (Hillis and Steele 1986): each round joins every step to the one `reach` before it."""
    reach = 1
    while reach < u.shape[1]:
        u = torch.cat([u[:, :reach], a[:, reach:] * u[:, :-reach] + u[:, reach:]], 1)
        a = torch.cat([a[:, :reach], a[:, reach:] * a[:, :-reach]], 1)
        reach *= 2
    return u


def tree(a: Tensor, u: Tensor) -> Tensor:
    """Scan with work in proportion to T (Blelloch 1990): join steps in pairs, scan the pairs, fill in the odd steps."""
    steps = u.shape[1]
    if steps == 1:
        return u
    even = slice(0, steps - 1, 2)                                       # the first step of each pair
    after = tree(a[:, 1::2] * a[:, even], torch.addcmul(u[:, 1::2], a[:, 1::2], u[:, even]))
    states = torch.empty_like(u)
    states[:, 0], states[:, 1::2] = u[:, 0], after
    states[:, 2::2] = torch.addcmul(u[:, 2::2], a[:, 2::2], after[:, :(steps - 1) // 2])
    return states


class Recurrence(torch.autograd.Function):
    """States of h_t = a_t h_{t-1} + u_t from a zero state; the gradient is such a recurrence too, run backwards.

    With the gradient e_t that enters at h_t and the bar for the complex conjugate:

        g_t = e_t + bar(a_{t+1}) g_{t+1}    dL/du_t = g_t    dL/da_t = g_t bar(h_{t-1})
    """

    @staticmethod
    def forward(ctx, a: Tensor, u: Tensor, way: str) -> Tensor:
        """States (B, T, N)."""
        states = globals()[way](a, u)
        ctx.save_for_backward(a, states)
        ctx.way = way
        return states

    @staticmethod
    def backward(ctx, entering: Tensor) -> tuple[Tensor, Tensor, None]:
        """Gradients with respect to a and u."""
        a, states = ctx.saved_tensors
        back = torch.cat([torch.zeros_like(a[:, :1]), a[:, 1:].flip(1)], 1).conj()
        g = globals()[ctx.way](back.resolve_conj(), entering.flip(1)).flip(1)
        grad_a = torch.zeros_like(a)
        at_steps = g[:, 1:] * states[:, :-1].conj()
        grad_a[:, 1:] = at_steps if len(a) == len(g) else at_steps.sum(0, keepdim=True)
        return grad_a, g, None


def recur(a: Tensor, u: Tensor, h0: Tensor | None = None, *, way: str = "tree") -> Tensor:
    """States (B, T, N) of h_t = a_t h_{t-1} + u_t.

    Parameters
    ----------
    a : Tensor, shape (N,), (1, T, N) or (B, T, N)
    u : Tensor, shape (B, T, N)
    h0 : Tensor, shape (B, N), optional
        Of any sign: nothing here takes its logarithm.
    way : {"loop", "doubling", "tree"}
        One step after the other, or one of two parallel scans; the result is the same to rounding.

    Raises
    ------
    ValueError
        If a shape does not fit, an array is empty or not finite, or the way is unknown.
    """
    if way not in WAYS:
        raise ValueError(f"way is {way!r}; it must be one of {', '.join(WAYS)}")
    a, u, h0 = _checked(a, u, h0)
    first = u[:, :1] + a[:, :1] * h0[:, None]                           # the first step takes the first state in
    return Recurrence.apply(a, torch.cat([first, u[:, 1:]], 1), way)


def powers(log_a: Tensor, exponents: Tensor) -> Tensor:
    """a^k for every exponent k, shape (len(exponents), N), from log a of shape (N,)."""
    if log_a.ndim != 1 or log_a.numel() == 0 or not torch.isfinite(log_a).all():
        raise ValueError(f"log_a has shape {tuple(log_a.shape)}, or holds NaN or infinity; it must be finite, (N,), one or more")
    return torch.exp(exponents[:, None].to(log_a.real.dtype) * log_a)


def recur_fft(log_a: Tensor, u: Tensor, h0: Tensor | None = None) -> Tensor:
    """The states of `recur` for coefficients that stay the same, as a convolution with the kernel (1, a, a^2, ...).

    Parameters
    ----------
    log_a : Tensor, shape (N,)
        Logarithms of the coefficients, complex where these are.
    u, h0 : Tensor, shapes (B, T, N) and (B, N)

    Both transforms have length 2T: at length T the end of the sequence would come round to its beginning.
    """
    steps = max(1, u.shape[1]) if u.ndim == 3 else 1
    kernel = powers(log_a, torch.arange(steps + 1))
    _, u, h0 = _checked(kernel[1], u, h0)
    transform, back = (torch.fft.fft, torch.fft.ifft) if u.is_complex() else (torch.fft.rfft, torch.fft.irfft)
    product = transform(u, n=2 * steps, dim=1) * transform(kernel[:-1].to(u.dtype), n=2 * steps, dim=0)
    return back(product, n=2 * steps, dim=1)[:, :steps] + kernel[1:] * h0[:, None]


def last_state(log_a: Tensor, u: Tensor) -> Tensor:
    """The state after the last step alone, (B, N): the weighted sum of a^{T-t} u_t over the steps t."""
    steps = max(1, u.shape[1]) if u.ndim == 3 else 1
    weights = powers(log_a, torch.arange(steps - 1, -1, -1))
    _, u, _ = _checked(weights[-1], u, None)
    return (weights.to(u.dtype) * u).sum(1)


def scan_cost(steps: int, way: str) -> tuple[int, int]:
    """Rounds that must follow each other, and joins of two steps in all of them, to find T states of one mode.

    Parameters
    ----------
    steps : int
        T.
    way : {"loop", "doubling", "tree"}
    """
    if way not in WAYS:
        raise ValueError(f"way is {way!r}; it must be one of {', '.join(WAYS)}")
    if count("steps", steps) == 1 or way == "loop":
        return steps - 1, steps - 1
    if way == "doubling":
        rounds = (steps - 1).bit_length()                               # ceil(log2 T)
        return rounds, sum(steps - 2**k for k in range(rounds))
    rounds, joins = scan_cost(steps // 2, way)
    fills = (steps - 1) // 2
    return rounds + 1 + (fills > 0), joins + steps // 2 + fills
