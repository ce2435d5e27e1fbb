"""Recall networks for many seeds at once: one batched product a step serves all replicas.

Dimensions: R replicas (one network per seed), B batch, T length, V symbols, H hidden size, k blocks of rows.
A replica trains as its own `Recaller` would, to rounding: same initial weights, same batches, its own clipping.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from lessonlib.order_models import BATCH_SIZE, LEARNING_RATE
from lessonlib.recall import MAX_NORM, Recall, Recaller, RecallRun
from lessonlib.replicas import clip_each_replica
from lessonlib.scans import GRUScan, LSTMScan, PlainScan

SCANS = {"rnn": PlainScan, "gru": GRUScan, "lstm": LSTMScan}


class ReplicaRecallers:
    """Several recall networks of one kind, with their weights stacked.

    Parameters
    ----------
    networks : sequence of Recaller
        The replicas; their weights are copied.
    """

    def __init__(self, networks: Sequence[Recaller]) -> None:
        kinds = {network.kind for network in networks}
        if len(kinds) != 1:
            raise ValueError(f"networks has {len(kinds)} kinds; one or more networks of one kind are needed")
        self.kind, = kinds
        self.weights, _ = torch.func.stack_module_state(list(networks))

    def __len__(self) -> int:
        return len(self.weights["readout.bias"])

    def write_to(self, i: int, network: Recaller) -> None:
        """Copy the present weights of replica i into a network."""
        network.load_state_dict({name: stacked[i].detach() for name, stacked in self.weights.items()})

    def logits(self, ids: Tensor) -> Tensor:
        """Logits (R, B) of ids (R, B, T): replica i reads `ids[i]`."""
        if ids.ndim != 3 or len(ids) != len(self) or ids.shape[2] < 1:
            raise ValueError(f"ids has shape {tuple(ids.shape)}; it must be ({len(self)}, B, T) with T at least 1")
        onehot = F.one_hot(ids.permute(2, 0, 1), self.weights["embedding.weight"].shape[1]).to(self.weights["readout.bias"].dtype)
        last = SCANS[self.kind].apply(onehot.transpose(2, 3).contiguous(), self.joint())           # (R, H, B)
        return torch.baddbmm(self.weights["readout.bias"][:, None], self.weights["readout.weight"], last).squeeze(1)

    def joint(self) -> Tensor:
        """The matrix J of `lessonlib.scans`, from PyTorch's weights."""
        W_x, W_h, b_x, b_h = (self.weights[f"recurrence.{name}_l0"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        symbols = torch.baddbmm(b_x[:, :, None], W_x, self.weights["embedding.weight"].transpose(1, 2))  # (R, k H, V)
        if self.kind != "gru":
            return torch.cat([W_h, symbols + b_h[:, :, None]], dim=2)
        H, bias = W_h.shape[2], b_h[:, :, None].expand_as(symbols)
        gates = torch.cat([W_h[:, :2 * H], (symbols + bias)[:, :2 * H]], dim=2)
        of_symbol = torch.cat([torch.zeros_like(W_h[:, 2 * H:]), symbols[:, 2 * H:]], dim=2)
        of_state = torch.cat([W_h[:, 2 * H:], bias[:, 2 * H:]], dim=2)
        return torch.cat([gates, of_symbol, of_state], dim=1)

    def step(self, task: Recall, rows: Tensor, optimiser: torch.optim.Optimizer) -> Tensor:
        """One update of every replica on its own rows (R, B) of the task; the answers before it, right or not, (R, B)."""
        logits, flags = self.logits(task.ids[rows]), task.flags[rows]
        optimiser.zero_grad()
        (F.binary_cross_entropy_with_logits(logits, flags) * len(rows)).backward()  # each replica's own mean
        clip_each_replica(self.weights.values(), MAX_NORM)
        optimiser.step()
        return (logits > 0) == flags.bool()

    def keep(self, going: Tensor, optimiser: torch.optim.Optimizer) -> None:
        """Drop all replicas but those of the indices `going`, from the weights and from Adam's averages."""
        for weight in self.weights.values():
            state, weight.grad = optimiser.state[weight], None
            weight.data = weight.data[going]
            for name in ("exp_avg", "exp_avg_sq"):
                state[name] = state[name][going]


def train_together(networks: Sequence[Recaller], task: Recall, *, epochs: int,
                   generators: Sequence[torch.Generator]) -> list[RecallRun]:
    """Train every network in place, as `lessonlib.recall.train_recaller` would with its own generator.

    A network leaves the stack when its run ends, so those that learn early cost little.

    Returns
    -------
    list of RecallRun
        In the order of `networks`.
    """
    if len(generators) != len(networks):
        raise ValueError(f"generators has {len(generators)} entries; there are {len(networks)} networks")
    if epochs < 1:
        raise ValueError(f"epochs is {epochs}; it must be at least 1")
    stack, runs, going = ReplicaRecallers(networks), [RecallRun(network) for network in networks], list(range(len(networks)))
    optimiser = torch.optim.Adam(stack.weights.values(), lr=LEARNING_RATE, fused=True)
    for _epoch in range(epochs):
        orders = torch.stack([torch.randperm(len(task.ids), generator=generators[r]) for r in going])
        right = sum(stack.step(task, rows, optimiser).sum(1) for rows in orders.split(BATCH_SIZE, dim=1))
        for i, r in enumerate(going):
            runs[r].shares.append(right[i].item() / len(task.ids))
            stack.write_to(i, networks[r])
        still = [i for i, r in enumerate(going) if not runs[r].learned]
        if not still:
            break
        if len(still) < len(going):
            stack.keep(torch.tensor(still), optimiser)
            going = [going[i] for i in still]
    return runs
