"""The plain recurrent network of Elman (1990), in NumPy, and its twin in PyTorch.

Dimensions, the same in every function:
    B     batch, the number of sequences that run side by side
    T     length, the number of steps
    H     hidden_size, the width of the state
    d_in  input_size, the width of one input
    d_out output_size, the width of one output

One vector is a one-dimensional array. A batch of sequences is (B, T, width), one example a row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from lessonlib.arguments import finite_array

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RecurrentNetwork:
    """The weights of an Elman network with an output layer.

    Attributes
    ----------
    W_h : (H, H)
        From the previous state to the new one.
    W_x : (H, d_in)
        From the input to the new state.
    b : (H,)
        Bias of the state.
    W_y : (d_out, H)
        From the state to the output.
    c : (d_out,)
        Bias of the output.
    """

    W_h: Array
    W_x: Array
    b: Array
    W_y: Array
    c: Array

    def __post_init__(self) -> None:
        hidden, outputs = len(np.atleast_1d(self.W_h)), len(np.atleast_1d(self.W_y))
        shapes = {"W_h": (hidden, hidden), "W_x": (hidden, None), "b": (hidden,),
                  "W_y": (outputs, hidden), "c": (outputs,)}
        for name, shape in shapes.items():
            object.__setattr__(self, name, finite_array(name, getattr(self, name), shape))

    @property
    def hidden_size(self) -> int:
        """Width H."""
        return len(self.W_h)

    @property
    def input_size(self) -> int:
        """Width d_in."""
        return self.W_x.shape[1]

    @property
    def output_size(self) -> int:
        """Width d_out."""
        return len(self.W_y)

    @property
    def n_parameters(self) -> int:
        """Number of weights, all five arrays together."""
        return sum(array.size for array in (self.W_h, self.W_x, self.b, self.W_y, self.c))


def initial_network(input_size: int, hidden_size: int, output_size: int,
                    rng: np.random.Generator) -> RecurrentNetwork:
    """A network before training, every entry uniform between plus and minus 1/sqrt(H).

    This is the distribution that PyTorch uses for `nn.RNN` and for an `nn.Linear` with H inputs.

    Raises
    ------
    ValueError
        If a size is smaller than 1.
    """
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size), ("output_size", output_size)):
        if size < 1:
            raise ValueError(f"{name} is {size}; it must be at least 1")
    bound = 1 / np.sqrt(hidden_size)
    shapes = ((hidden_size, hidden_size), (hidden_size, input_size), (hidden_size,),
              (output_size, hidden_size), (output_size,))
    return RecurrentNetwork(*(rng.uniform(-bound, bound, shape) for shape in shapes))


def rnn_step(network: RecurrentNetwork, state: Array, x: Array) -> Array:
    """The next state of one sequence: tanh(W_h h + W_x x + b), Elman (1990).

    Parameters
    ----------
    state : (H,)
        The state after the previous step.
    x : (d_in,)
        The input of this step.

    Returns
    -------
    (H,)
    """
    z = network.W_h @ state + network.W_x @ x + network.b
    return np.tanh(z)


def rnn_forward(network: RecurrentNetwork, inputs: ArrayLike,
                initial_state: ArrayLike | None = None) -> Array:
    """All states of a batch of sequences.

    Parameters
    ----------
    inputs : (B, T, d_in)
    initial_state : (B, H), optional
        The state before the first step; zero if not given.

    Returns
    -------
    (B, T, H)
        The last state of each sequence is `states[:, -1]`.

    Raises
    ------
    ValueError
        If an array has another shape, is empty, or holds NaN or infinity.
    """
    x = finite_array("inputs", inputs, (None, None, network.input_size))
    batch, length, _ = x.shape
    H = np.zeros((batch, network.hidden_size))            # (B, H)
    if initial_state is not None:
        H = finite_array("initial_state", initial_state, H.shape)
    from_inputs = x @ network.W_x.T + network.b           # (B, T, H), all steps at once
    states = np.empty_like(from_inputs)
    for t in range(length):                               # step t waits for step t - 1
        H = np.tanh(H @ network.W_h.T + from_inputs[:, t])
        states[:, t] = H
    return states


def readout(network: RecurrentNetwork, states: ArrayLike) -> Array:
    """Outputs y = W_y h + c for states of shape (..., H); returns (..., d_out)."""
    h = np.asarray(states, dtype=np.float64)
    if h.ndim == 0 or h.shape[-1] != network.hidden_size:
        raise ValueError(f"states has shape {h.shape}; its last axis must be {network.hidden_size}")
    return h @ network.W_y.T + network.c


def parameter_counts(input_size: int, hidden_size: int, output_size: int, biases: int = 1) -> tuple[int, int]:
    """Parameters of the recurrence, H(H + d_in + biases), and of the output layer, d_out(H + 1).

    Parameters
    ----------
    biases : int
        Bias vectors of the recurrence: 1 in the equations, 2 in `torch.nn.RNN`.
    """
    if min(input_size, hidden_size, output_size) < 1 or biases < 0:
        raise ValueError(f"sizes are {input_size}, {hidden_size}, {output_size} with {biases} biases; "
                         "sizes must be at least 1, biases at least 0")
    return hidden_size * (hidden_size + input_size + biases), output_size * (hidden_size + 1)


def to_torch(network: RecurrentNetwork) -> tuple[torch.nn.RNN, torch.nn.Linear]:
    """The same network as `nn.RNN` (float64, `batch_first`) and `nn.Linear`; the second bias is zero."""
    rnn = torch.nn.RNN(network.input_size, network.hidden_size, batch_first=True, dtype=torch.float64)
    head = torch.nn.Linear(network.hidden_size, network.output_size, dtype=torch.float64)
    arrays = {rnn.weight_hh_l0: network.W_h, rnn.weight_ih_l0: network.W_x, rnn.bias_ih_l0: network.b,
              rnn.bias_hh_l0: np.zeros(network.hidden_size), head.weight: network.W_y, head.bias: network.c}
    with torch.no_grad():
        for parameter, array in arrays.items():
            parameter.copy_(torch.as_tensor(array))
    return rnn, head


def from_torch(rnn: torch.nn.RNN, head: torch.nn.Linear) -> RecurrentNetwork:
    """The same network in NumPy; the two bias vectors of `nn.RNN` become their sum.

    Raises
    ------
    ValueError
        If `rnn` is not one layer, one direction, with tanh and biases.
    """
    if (rnn.num_layers, rnn.bidirectional, rnn.mode, rnn.bias) != (1, False, "RNN_TANH", True):
        raise ValueError(f"rnn is {rnn}; it must have one layer, one direction, tanh and biases")
    tensors = (rnn.weight_hh_l0, rnn.weight_ih_l0, rnn.bias_ih_l0 + rnn.bias_hh_l0, head.weight, head.bias)
    return RecurrentNetwork(*(tensor.detach().double().numpy() for tensor in tensors))
