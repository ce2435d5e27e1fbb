"""The biases of gates, set and read in PyTorch's layers and cells and in those of `lessonlib.gated`.

Dimensions: H hidden_size, k blocks (one for each gate and one for the candidate). A layer has two bias vectors of
length k H, which add up; the bias of one gate is H numbers of their sum.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lessonlib.gated import THEIRS, GRULayer, LSTMLayer, RecurrentLayer


def bias_pairs(module: nn.Module) -> list[tuple[Tensor, Tensor]]:
    """The two bias vectors of every layer and direction: PyTorch's layers and cells, and those of `lessonlib.gated`."""
    if isinstance(module, RecurrentLayer):
        return [(module.b_x, module.b_h)]
    if not isinstance(module, (nn.RNNBase, nn.RNNCellBase)) or not module.bias:
        raise ValueError(f"module is {module}; it must be a recurrent layer or cell with biases")
    named = dict(module.named_parameters())
    return [(named[name], named[name.replace("_ih", "_hh")]) for name in named if name.startswith("bias_ih")]


def gate_slice(module: nn.Module, gate: str) -> slice:
    """Where the rows of a gate stand in the stacked weights and biases of a layer."""
    blocks = next((cls.blocks for cls in (LSTMLayer, GRULayer) if isinstance(module, (cls, *THEIRS[cls.mode]))), ())
    gates = [block for block in blocks if block != "candidate"]
    if gate not in gates:
        raise ValueError(f"gate is {gate!r}; {type(module).__name__} has {', '.join(gates) or 'no gates'}")
    start = blocks.index(gate) * module.hidden_size
    return slice(start, start + module.hidden_size)


def set_gate_bias(module: nn.Module, gate: str, value: float | Tensor) -> None:
    """Make the bias of a gate equal `value`, a number or a vector (H,), in every layer and direction.

    The two bias vectors add up, so the first takes the value and the second becomes zero.
    """
    rows = gate_slice(module, gate)
    value = torch.as_tensor(value)
    if value.shape not in ((), (module.hidden_size,)) or not torch.isfinite(value).all():
        raise ValueError(f"value has shape {tuple(value.shape)} or is not finite; it must be a number or ({module.hidden_size},)")
    with torch.no_grad():
        for first, second in bias_pairs(module):
            first[rows] = value.to(first)
            second[rows] = 0.0


def set_forget_bias(lstm: nn.Module, value: float | Tensor) -> None:
    """Make the forget bias of an LSTM equal `value` in every layer and direction; see `set_gate_bias`."""
    set_gate_bias(lstm, "forget", value)


def gate_bias(module: nn.Module, gate: str) -> Tensor:
    """The bias of a gate as it acts, the sum of the two vectors: (layers times directions, H)."""
    rows = gate_slice(module, gate)
    return torch.stack([(first + second)[rows].detach() for first, second in bias_pairs(module)])
