"""What a layer costs: operations, ordered steps, path length, receptive field, and bytes kept while generating.

Dimensions: B sequences in a batch, T positions, d width of a layer, k taps of a convolution, L layers. One operation
is one multiplication or one addition, so a product of arrays (m, n) and (n, p) counts 2 m n p. What is linear in the
size of an array (biases, activation functions, a softmax) is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from lessonlib.arguments import count

aten = torch.ops.aten
PRODUCTS = {op.default for op in (aten.mm, aten.addmm, aten.bmm, aten.baddbmm, aten.convolution)}


# Operations, by formula and as executed ----------------------------------------------------------------------------

def recurrent_flops(batch: int, steps: int, width: int, *, gates: int) -> int:
    """2 B T gates d (d + d): a layer of PyTorch from width d to width d; gates is 1 (plain), 3 (GRU) or 4 (LSTM)."""
    return 4 * count("batch", batch) * count("steps", steps) * count("gates", gates) * count("width", width) ** 2


def attention_flops(batch: int, steps: int, width: int, *, projections: int) -> int:
    """4 B T^2 d for scores and weighted sums, and 2 B T d^2 for each of the projections (3, or 4 with the output's)."""
    if projections < 0:
        raise ValueError(f"projections is {projections}; it must be 0 or above")
    return 4 * count("batch", batch) * count("steps", steps) ** 2 * count("width", width) + 2 * batch * steps * projections * width**2


def convolution_flops(batch: int, steps: int, width: int, *, kernel: int, layers: int = 1) -> int:
    """2 L B T k d^2: causal convolutions from width d to width d, whatever their dilation."""
    return 2 * count("layers", layers) * count("batch", batch) * count("steps", steps) * count("kernel", kernel) * count("width", width) ** 2


def counted_flops(run: Callable[[], Any]) -> int:
    """Operations in the matrix products and convolutions that `run()` executes.

    PyTorch's fused LSTM kernel hides its products from the counter, so it is switched off while counting.
    """
    with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False, allow_tf32=None), FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


class _Chain(TorchDispatchMode):
    """Gives each result the number of products on the longest way to it."""

    def __init__(self) -> None:
        super().__init__()
        self.depths: dict[int, int] = {}
        self.alive: list[Tensor] = []  # an id is unique only as long as its tensor lives

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        inputs = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        depth = max((self.depths.get(id(t), 0) for t in inputs), default=0) + (func in PRODUCTS)
        for t in tree_leaves(result):
            if isinstance(t, Tensor):
                self.depths[id(t)] = depth
                self.alive.append(t)
        return result


def longest_chain(run: Callable[[], Any]) -> int:
    """Products on the longest chain in which each needs the result of the one before, as `run()` executes them.

    However many processors there are, these must be computed one after the other.
    """
    with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False, allow_tf32=None), _Chain() as chain:
        run()
    return max(chain.depths.values(), default=0)


# Paths and reach ---------------------------------------------------------------------------------------------------

def receptive_field(kernel: int, dilations: Sequence[int]) -> int:
    """Positions that the last output of a stack of causal convolutions sees: 1 + (k - 1) sum_l d_l."""
    if not len(dilations):
        raise ValueError("dilations is empty; it must hold one dilation for each layer, at least one")
    return 1 + (count("kernel", kernel) - 1) * sum(count("dilations", dilation) for dilation in dilations)


def doubling(kernel: int, layers: int) -> list[int]:
    """Dilations 1, k, k^2, ... of a stack that leaves no gap and reaches k^L positions."""
    return [count("kernel", kernel) ** layer for layer in range(count("layers", layers))]


def path_length(kind: str, steps: int, *, kernel: int = 2) -> int:
    """Operations between the first and the last of T positions, T at least 2.

    Parameters
    ----------
    kind : {"recurrence", "convolution", "dilated", "attention"}
        Steps of the recurrence, T - 1; layers of a convolution without dilation, or with dilations 1, k, k^2, ...;
        attention, 1.
    """
    steps = count("steps", steps)
    if steps < 2 or kernel < 2:
        raise ValueError(f"steps is {steps} and kernel {kernel}; a path needs at least two of each")
    layers = 1
    while kernel**layers < steps:
        layers += 1
    lengths = {"recurrence": steps - 1, "convolution": -(-(steps - 1) // (kernel - 1)), "dilated": layers, "attention": 1}
    if kind not in lengths:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(lengths)}")
    return lengths[kind]


class CausalConvolutions(nn.Module):
    """A stack of causal convolutions from width d to width d, each followed by an activation function.

    Parameters
    ----------
    width, kernel, dilations
        Layer l reads k positions, `dilations[l]` apart, the last of them its own.
    activation : callable
        tanh unless given.
    """

    def __init__(self, width: int, kernel: int, dilations: Sequence[int], activation: Callable[[Tensor], Tensor] = torch.tanh) -> None:
        super().__init__()
        self.reach, self.activation = receptive_field(kernel, dilations), activation
        self.layers = nn.ModuleList([nn.Conv1d(width, width, kernel, dilation=dilation) for dilation in dilations])

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (B, d, T) of inputs (B, d, T): position t sees t, t - 1, ... as far as the stack reaches."""
        if x.ndim != 3 or x.shape[-1] == 0:
            raise ValueError(f"x has shape {tuple(x.shape)}; it must be (B, d, T) with T at least 1")
        for layer in self.layers:
            before = layer.dilation[0] * (layer.kernel_size[0] - 1)   # zeros on the left only: nothing of the future
            x = self.activation(layer(F.pad(x, (before, 0))))
        return x


def seen_by_last(run: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Norm of the gradient of the last output, summed over channels, at each input position.

    Parameters
    ----------
    run : callable, (B, d, T) to (B, d, T)
    x : Tensor, shape (1, d, T)

    Returns
    -------
    Tensor, shape (T,)
        Zero where the last output does not depend on the position.
    """
    x = x.detach().requires_grad_()
    run(x)[..., -1].sum().backward()
    return x.grad[0].norm(dim=0)


# What is kept while generating -------------------------------------------------------------------------------------

def tensor_bytes(*kept: Any) -> int:
    """Bytes of all tensors in a nested structure."""
    return sum(t.numel() * t.element_size() for t in tree_leaves(kept) if isinstance(t, Tensor))


def lstm_state_bytes(layers: int, width: int, *, bytes_each: int = 4) -> int:
    """2 L d numbers (h and c), whatever the length of the sequence."""
    return 2 * count("layers", layers) * count("width", width) * count("bytes_each", bytes_each)


def cache_bytes(layers: int, width: int, steps: int, *, bytes_each: int = 2) -> int:
    """2 L d T numbers (keys and values) after T positions; the number of heads does not matter."""
    return 2 * count("layers", layers) * count("width", width) * count("steps", steps) * count("bytes_each", bytes_each)
