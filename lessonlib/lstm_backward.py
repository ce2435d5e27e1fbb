"""The backward pass of an LSTM, step by step from its equations: which part of an error signal runs along the cell.

Dimensions: B batch, T steps, d input size, H hidden size. With delta_t = dL/dh_t and kappa_t = dL/dc_t, both (B, H),

    kappa_t += delta_t * o_t * (1 - tanh(c_t)^2)                    what h_t asks of the cell
    g_i = kappa_t * g_t * i_t (1 - i_t)        g_f = kappa_t * c_{t-1} * f_t (1 - f_t)
    g_g = kappa_t * i_t * (1 - g_t^2)          g_o = delta_t * tanh(c_t) * o_t (1 - o_t)
    delta_{t-1} = [g_i, g_f, g_g, g_o] W_h     dL/dx_t = [g_i, g_f, g_g, g_o] W_x     kappa_{t-1} = kappa_t * f_t

where g_t is the candidate, `*` works entry by entry, and blocks stand in PyTorch's order.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from lessonlib.gated import LSTMLayer


class StepBack(NamedTuple):
    """Error signals one step earlier: at the hidden state and the cell state (B, H), and at the input (B, d)."""

    h: Tensor
    c: Tensor
    x: Tensor


def backward_step(layer: LSTMLayer, x: Tensor, h: Tensor, c: Tensor, delta: Tensor, kappa: Tensor) -> StepBack:
    """Send the error signals of one step back to what the step started from.

    Parameters
    ----------
    x, h, c : Tensor, shapes (B, d), (B, H), (B, H)
        The input of the step, and the state *before* it.
    delta, kappa : Tensor, shape (B, H)
        dL/dh and dL/dc after the step; `kappa` without the part that comes through this step's h.
    """
    i, f, g, o = layer.gates(x, h)
    squashed = torch.tanh(f * c + i * g)
    kappa = kappa + delta * o * (1 - squashed**2)
    blocks = torch.cat([kappa * g * i * (1 - i),                 # input gate
                        kappa * c * f * (1 - f),                 # forget gate
                        kappa * i * (1 - g**2),                  # candidate
                        delta * squashed * o * (1 - o)], dim=-1)  # output gate
    return StepBack(blocks @ layer.W_h, kappa * f, blocks @ layer.W_x)


class Signals(NamedTuple):
    """Error signals of a whole sequence: at the inputs (B, T, d), and at the cell state before each step (B, T, H)."""

    inputs: Tensor
    cells: Tensor


@torch.no_grad()
def lstm_error_signals(layer: LSTMLayer, x: Tensor, delta_h: Tensor | None = None, delta_c: Tensor | None = None, *,
                  through_h: bool = True) -> Signals:
    """Walk back from the last step of inputs (B, T, d), which start from a state of zero.

    Parameters
    ----------
    delta_h, delta_c : Tensor, shape (B, H), optional
        dL/dh_T and dL/dc_T; zero where not given, but one of them must be.
    through_h : bool
        False drops what would go back through h_{t-1} at every step, so that only the direct path along the cell is left.
    """
    if delta_h is None and delta_c is None:
        raise ValueError("delta_h and delta_c are both missing; at least one error signal must enter at the last step")
    before = [layer.zero_state(len(x)), *layer.states(x)[:-1]]
    zero = torch.zeros_like(before[0][0])
    for name, signal in (("delta_h", delta_h), ("delta_c", delta_c)):
        if signal is not None and signal.shape != zero.shape:
            raise ValueError(f"{name} has shape {tuple(signal.shape)}; it must be {tuple(zero.shape)}")
    delta, kappa = zero if delta_h is None else delta_h, zero if delta_c is None else delta_c
    inputs, cells = [], []
    for x_t, (h, c) in zip(reversed(x.unbind(1)), reversed(before)):
        back = backward_step(layer, x_t, h, c, delta, kappa)
        delta, kappa = back.h if through_h else zero, back.c
        inputs.append(back.x)
        cells.append(back.c)
    return Signals(torch.stack(inputs[::-1], 1), torch.stack(cells[::-1], 1))
