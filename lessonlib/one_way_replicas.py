"""Training of one-way reversers, several seeds at once: every step is one batched product for all replicas.

Dimensions: R replicas (one network a seed), B batch, L digits in a string, H hidden_size, E embedding_size.
A replica trains as its own `OneWayReverser` would, to rounding: same initial weights, same batches, its own clipping.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.arguments import count, positive
from lessonlib.attention_scan import AttentionScan
from lessonlib.gru_scan import GRUScan
from lessonlib.one_way_reversal import BATCH_SIZE, DIGITS, OneWayReverser, decoder_inputs, draw_digits, untrained
from lessonlib.replicas import clip_each_replica


class OneWayReplicas(nn.Module):
    """Several reversers of one kind side by side, with their own weights; these are copied."""

    def __init__(self, networks: Sequence[OneWayReverser]) -> None:
        super().__init__()
        kinds = {tuple(p.shape for p in n.parameters()) for n in networks}
        if len(kinds) != 1:
            raise ValueError(f"networks has {len(kinds)} different kinds; one or more networks of one kind are needed")
        self.attending = networks[0].attending
        for part, layer in networks[0].named_children():
            for kind, _ in layer.named_parameters():
                stacked = torch.stack([n.get_parameter(f"{part}.{kind}").detach() for n in networks])
                self.register_parameter(f"{part}_{kind}", nn.Parameter(stacked))

    def mapped(self, layer: str, x: Tensor) -> Tensor:
        """A linear layer of every replica on x (R, rows, width)."""
        return torch.baddbmm(getattr(self, f"{layer}_bias")[:, None], x, getattr(self, f"{layer}_weight").transpose(1, 2))

    def from_tokens(self, tokens: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """What tokens (R, B, L) send to a GRU, (L, R, B, 3 H): a row of a table for each token."""
        table = torch.baddbmm(bias[:, None], self.embedding_weight, weight.transpose(1, 2))         # (R, V, 3 H)
        onehot = F.one_hot(tokens, DIGITS + 1).to(table.dtype)
        return torch.bmm(onehot.flatten(1, 2), table).unflatten(1, tokens.shape[1:]).permute(2, 0, 1, 3)

    def forward(self, strings: Tensor) -> Tensor:
        """Teacher-forced logits (R, B, L, 10) of strings (R, B, L)."""
        replicas, rows, _ = strings.shape
        if replicas != len(self.output_bias):
            raise ValueError(f"strings has shape {tuple(strings.shape)}; it must be ({len(self.output_bias)}, B, L)")
        g = self.from_tokens(strings, self.reader_weight_ih_l0, self.reader_bias_ih_l0)
        start = g.new_zeros(replicas, rows, g.shape[3] // 3)
        read = GRUScan.apply(g, start, self.reader_weight_hh_l0.transpose(1, 2), self.reader_bias_hh_l0[:, None])
        E = self.embedding_weight.shape[2]
        g = self.from_tokens(decoder_inputs(strings), self.writer_weight_ih[..., :E], self.writer_bias_ih)
        W_h, b_h = self.writer_weight_hh.transpose(1, 2), self.writer_bias_hh[:, None]
        if self.attending:
            annotations = read.permute(1, 2, 0, 3)                                                  # (R, B, L, H)
            keys = self.mapped("from_annotation", annotations.flatten(1, 2)) + self.from_state_bias[:, None]
            written, _ = AttentionScan.apply(
                g, read[-1], annotations, keys.view_as(annotations), torch.zeros(strings.shape, dtype=torch.bool),
                self.writer_weight_ih[..., E:].transpose(1, 2), W_h, b_h, self.from_state_weight.transpose(1, 2),
                self.scorer_weight.transpose(1, 2))
        else:
            written = GRUScan.apply(g, read[-1], W_h, b_h)
        return self.mapped("output", written.permute(1, 2, 0, 3).flatten(1, 2)).unflatten(1, strings.shape[1:])

    @torch.no_grad()
    def copy_into(self, networks: Sequence[OneWayReverser]) -> Sequence[OneWayReverser]:
        """Give the present weights of replica i to network i, and return the networks."""
        for i, network in enumerate(networks):
            for name, parameter in network.named_parameters():
                parameter.copy_(getattr(self, name.replace(".", "_"))[i])
        return networks


class Trained(NamedTuple):
    """What a training gives.

    Attributes
    ----------
    networks : list of OneWayReverser
        One a seed.
    losses, norms : Tensor, shape (updates, R)
        Before each update: the loss in nats a digit, and the norm of the gradient before clipping.
    """

    networks: list[OneWayReverser]
    losses: Tensor
    norms: Tensor


def train_one_way(seeds: Sequence[int], *, attention: bool, length: int, updates: int, learning_rate: float,
                  max_norm: float, hidden_size: int) -> Trained:
    """Train a network for each seed, with Adam, on new strings of one length at every update.

    Parameters
    ----------
    seeds : sequence of int
        Of the initial weights and of the strings.
    attention, length, hidden_size
        The kind of network, the digits in a string, H.
    updates, learning_rate
        The budget, and the rate of Adam.
    max_norm : float
        The gradient of each network is scaled down to this norm where it is larger; infinity switches that off.
    """
    networks = [untrained(seed, attention=attention, hidden_size=hidden_size) for seed in seeds]
    replicas, generators = OneWayReplicas(networks), [torch.Generator().manual_seed(seed) for seed in seeds]
    used = [p for name, p in replicas.named_parameters() if attention or not name.startswith(("from_", "scorer"))]
    optimiser = torch.optim.Adam(used, lr=positive("learning_rate", learning_rate), fused=True)
    losses, norms = [], []
    for _ in range(count("updates", updates)):
        strings = torch.stack([draw_digits(BATCH_SIZE, length, generator) for generator in generators])
        logits = replicas(strings)
        loss = F.cross_entropy(logits.flatten(0, 2), strings.flip(2).flatten(), reduction="none").view(len(seeds), -1).mean(1)
        optimiser.zero_grad()
        loss.sum().backward()                                                        # each replica's own mean
        norms.append(clip_each_replica(used, max_norm))
        optimiser.step()
        losses.append(loss.detach())
    return Trained(list(replicas.copy_into(networks)), torch.stack(losses), torch.stack(norms))
