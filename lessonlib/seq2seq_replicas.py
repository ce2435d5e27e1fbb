"""Encoder-decoders of one shape for many seeds at once: every step is one batched product for all replicas.

Dimensions: R replicas (one network a seed), B batch, S source positions, T' target positions, H hidden_size, V tokens.
A replica trains as its own `EncoderDecoder` would, to rounding: same initial weights, same batches, its own clipping.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.arguments import count
from lessonlib.attention_scan import AttentionScan
from lessonlib.digit_strings import Strings, draw_strings
from lessonlib.replicas import ReplicaScan, clip_each_replica
from lessonlib.reversal import BATCH_SIZE, LEARNING_RATE, LONGEST, MAX_NORM, SHORTEST
from lessonlib.seq2seq import EncoderDecoder


def backwards(lengths: Tensor, steps: int) -> Tensor:
    """Places that turn each row's first `lengths` entries round and leave the rest, (..., steps) for lengths (...)."""
    place = torch.arange(steps)
    return torch.where(place < lengths[..., None], lengths[..., None] - 1 - place, place)


def at(values: Tensor, place: Tensor) -> Tensor:
    """Steps of `values` (T, R, B, H) in the order that `place` (R, B, T') gives: (T', R, B, H)."""
    return values.gather(0, place.permute(2, 0, 1)[..., None].expand(-1, -1, -1, values.shape[-1]))


class ReplicaEncoderDecoder(nn.Module):
    """Several encoder-decoders side by side, with their own weights; these are copied.

    Parameters
    ----------
    networks : sequence of EncoderDecoder
        One or more, all of one shape, all packed or none, all with attention or none.
    """

    def __init__(self, networks: Sequence[EncoderDecoder]) -> None:
        super().__init__()
        kinds = {(n.packed, *((name, p.shape) for name, p in n.named_parameters())) for n in networks}
        if len(kinds) != 1:
            raise ValueError(f"networks has {len(kinds)} different kinds; one or more networks of one kind are needed")
        self.packed, self.attending = networks[0].packed, networks[0].attention is not None
        stacked = {name: nn.Parameter(torch.stack([dict(n.named_parameters())[name].detach() for n in networks]))
                   for name, _ in networks[0].named_parameters()}
        self.names = {name: name.replace(".", "_") for name in stacked}
        for name, parameter in stacked.items():
            self.register_parameter(self.names[name], parameter)

    def __getitem__(self, name: str) -> Tensor:
        """A parameter of `EncoderDecoder` by its name there, with the replicas in front."""
        return getattr(self, self.names[name])

    def copy_into(self, networks: Sequence[EncoderDecoder]) -> Sequence[EncoderDecoder]:
        """Give the present weights of replica i to network i, and return the networks."""
        for i, network in enumerate(networks):
            network.load_state_dict({name: self[name][i].detach() for name in self.names})
        return networks

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Annotations (R, B, S, 2 H) and start states (R, B, H) of sources (R, B, S)."""
        steps = source.shape[2]
        read = lengths if self.packed else torch.full_like(lengths, steps)
        turn, states = backwards(read, steps), []
        for suffix, ids in (("", source), ("_reverse", source.gather(2, turn))):
            W_x, W_h, b_x, b_h = (self[f"encoder.{kind}_l0{suffix}"] for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
            table = torch.baddbmm(b_x[:, None], self["source_embedding.weight"], W_x.transpose(1, 2))        # (R, V, 3H)
            onehot = F.one_hot(ids.permute(2, 0, 1), table.shape[1]).to(table.dtype)
            states.append(ReplicaScan.apply(onehot, table, W_h.transpose(1, 2), b_h[:, None]))                # (S, R, B, H)
        last = (read - 1)[..., None]
        summary = torch.cat([at(part, last)[0] for part in states], -1)                                       # (R, B, 2 H)
        if "squeeze.weight" in self.names:
            summary = torch.bmm(summary, self["squeeze.weight"].transpose(1, 2))                              # (R, B, summary_size)
        start = torch.tanh(torch.baddbmm(self["start.bias"][:, None], summary, self["start.weight"].transpose(1, 2)))
        return torch.cat([states[0], at(states[1], turn)], -1).permute(1, 2, 0, 3), start

    def forward(self, source: Tensor, lengths: Tensor, inputs: Tensor) -> Tensor:
        """Teacher-forced logits (R, B, T', V): replica i reads `source[i]`, `lengths[i]` and `inputs[i]`."""
        if source.ndim != 3 or len(source) != len(self["start.bias"]):
            raise ValueError(f"source has shape {tuple(source.shape)}; it must be ({len(self['start.bias'])}, B, S)")
        annotations, state = self.encode(source, lengths)
        W_x, width = self["decoder.weight_ih"].transpose(1, 2), self["target_embedding.weight"].shape[2]
        table = torch.baddbmm(self["decoder.bias_ih"][:, None], self["target_embedding.weight"], W_x[:, :width])
        onehot = F.one_hot(inputs, table.shape[1]).to(table.dtype)                                            # (R, B, T', V)
        from_tokens = torch.bmm(onehot.flatten(1, 2), table).unflatten(1, inputs.shape[1:])                   # (R, B, T', 3H)
        if self.attending:
            features = self.attended(from_tokens, state, annotations, lengths, W_x[:, width:])                # (R, B, T', 3 H)
        else:
            features = []
            for g in from_tokens.unbind(2):
                state = self.step(g, state)
                features.append(state)
            features = torch.stack(features, 2)                                                               # (R, B, T', H)
        flat = features.flatten(1, 2)
        return torch.baddbmm(self["output.bias"][:, None], flat, self["output.weight"].transpose(1, 2)).unflatten(1, inputs.shape[1:])

    def step(self, g: Tensor, state: Tensor) -> Tensor:
        """One step of the decoder's GRU from the input's part (R, B, 3 H) and the state (R, B, H)."""
        a = torch.baddbmm(self["decoder.bias_hh"][:, None], state, self["decoder.weight_hh"].transpose(1, 2))
        hidden = state.shape[2]
        r, kept = torch.sigmoid(g[..., :2 * hidden] + a[..., :2 * hidden]).chunk(2, -1)
        return torch.lerp(torch.tanh(torch.addcmul(g[..., 2 * hidden:], r, a[..., 2 * hidden:])), state, kept)

    def attended(self, from_tokens: Tensor, state: Tensor, annotations: Tensor, lengths: Tensor, W_c: Tensor) -> Tensor:
        """States and contexts side by side, (R, B, T', 3 H), of a decoder that looks at its annotations."""
        rows, steps = annotations.shape[1:3]
        prepared = torch.bmm(annotations.flatten(1, 2), self["attention.U_a.weight"].transpose(1, 2)).unflatten(1, (rows, steps))
        hidden = torch.arange(steps) >= lengths[..., None]                                                    # (R, B, S)
        states, contexts = AttentionScan.apply(
            from_tokens.permute(2, 0, 1, 3), state, annotations, prepared, hidden, W_c, self["decoder.weight_hh"].transpose(1, 2),
            self["decoder.bias_hh"][:, None], self["attention.W_a.weight"].transpose(1, 2), self["attention.v_a.weight"].transpose(1, 2))
        return torch.cat([states, contexts], -1).permute(1, 2, 0, 3)


def replica_losses(replicas: ReplicaEncoderDecoder, batch: Strings) -> Tensor:
    """Each replica's mean loss over its own real target positions, shape (R,)."""
    logits, real = replicas(*batch[:3]), batch.real
    losses = F.cross_entropy(logits.flatten(0, 2), batch.targets.flatten(), reduction="none").view_as(real)
    return (losses * real).sum((1, 2)) / real.sum((1, 2))


class ReversalTraining:
    """Training of several networks on digit strings, each on the batches of its own generator.

    Parameters
    ----------
    networks : sequence of EncoderDecoder
        Of one kind; they are copied and stay as they are.
    rngs : sequence of np.random.Generator
        One a network.
    shortest, longest : int
        Range of the lengths that are drawn.
    """

    def __init__(self, networks: Sequence[EncoderDecoder], rngs: Sequence[np.random.Generator], *, shortest: int = SHORTEST,
                 longest: int = LONGEST) -> None:
        if len(rngs) != len(networks):
            raise ValueError(f"rngs has {len(rngs)} entries; there are {len(networks)} networks")
        self.replicas = ReplicaEncoderDecoder(networks)
        self.optimiser = torch.optim.Adam(self.replicas.parameters(), lr=LEARNING_RATE, fused=True)
        self.originals, self.rngs, self.lengths = list(networks), list(rngs), (shortest, longest)

    def run(self, updates: int) -> Tensor:
        """Go on for some updates; the losses before each, in nats a token, shape (updates, R)."""
        losses = []
        for _ in range(count("updates", updates)):
            batches = [draw_strings(BATCH_SIZE, *self.lengths, rng=rng) for rng in self.rngs]
            loss = replica_losses(self.replicas, Strings(*map(torch.stack, zip(*batches))))
            self.optimiser.zero_grad()
            loss.sum().backward()                                             # each replica's own mean
            clip_each_replica(self.replicas.parameters(), MAX_NORM)
            self.optimiser.step()
            losses.append(loss.detach())
        return torch.stack(losses)

    def networks(self) -> list[EncoderDecoder]:
        """The networks as they are now, as copies that further training does not change."""
        return list(self.replicas.copy_into(copy.deepcopy(self.originals)))
