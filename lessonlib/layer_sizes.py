"""Sizes of recurrent layers by formula: parameters of a stack, operations of a step.

Dimensions: H hidden_size, d input_size, k blocks (one for each gate and one for the candidate).
"""

from __future__ import annotations

from lessonlib.arguments import count

BLOCKS = {"rnn": 1, "gru": 3, "lstm": 4}


def layer_parameters(kind: str, input_size: int, hidden_size: int, *, biases: int = 2, layers: int = 1, directions: int = 1) -> int:
    """Parameters of a stack: k H (H + d + biases) for each layer and direction; from the second layer on, d is directions times H.

    Parameters
    ----------
    kind : {"rnn", "gru", "lstm"}
        With k = 1, 3 and 4 blocks.
    biases : {0, 1, 2}
        Bias vectors: 1 in the equations, 2 in PyTorch.
    """
    sizes = [count(name, size) for name, size in (("input_size", input_size), ("hidden_size", hidden_size), ("layers", layers))]
    if kind not in BLOCKS or biases not in (0, 1, 2) or directions not in (1, 2):
        raise ValueError(f"kind is {kind!r}, biases {biases}, directions {directions}; kind is one of {', '.join(BLOCKS)}, "
                         "biases 0, 1 or 2, directions 1 or 2")
    widths = [sizes[0]] + [directions * hidden_size] * (sizes[2] - 1)
    return sum(directions * BLOCKS[kind] * hidden_size * (hidden_size + d + biases) for d in widths)


def step_operations(kind: str, input_size: int, hidden_size: int) -> int:
    """Multiplications and additions of the matrix products of one step of one sequence: 2 k H (H + d)."""
    return 2 * layer_parameters(kind, input_size, hidden_size, biases=0)
