"""The GRU racer for many seeds at once: every step is one batched product for all replicas.

Dimensions: R replicas (one network per seed), B batch, T length, V vocabulary, H hidden size.
A replica trains as its own `GRURacer` would, to rounding: same initial weights, same batches, its
own clipping; AdamW works number by number and needs no change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lessonlib.racers import GRURacer, build_with_seed
from lessonlib.tasks import Task
from lessonlib.training import BATCH_SIZE, CHECK_EVERY, LEARNING_RATE, MAX_NORM, draw_batch, masked_loss


class ReplicaScan(torch.autograd.Function):
    """The GRU recurrence of R replicas, with its gradient written out.

    With inputs g_t = (r, z, n parts, 3H numbers) and a_t = h_{t-1} W + b, as in `nn.GRU`:

        r_t = sigmoid(g_r + a_r)    z_t = sigmoid(g_z + a_z)
        n_t = tanh(g_n + r_t a_n)   h_t = (1 - z_t) n_t + z_t h_{t-1}

    The gradient runs the same steps backwards. Autograd would find the same numbers in more time.
    """

    @staticmethod
    def forward(ctx, onehot: Tensor, table: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """States (T, R, B, H) from one-hot ids (T, R, B, V), inputs by token (R, V, 3H), W (R, H, 3H), b (R, 1, 3H)."""
        hidden = weight.shape[1]
        state = onehot.new_zeros(*onehot.shape[1:3], hidden)
        states, gates, candidates, recurrent = [state], [], [], []
        for token in onehot:
            g = torch.bmm(token, table)
            a = torch.baddbmm(bias, state, weight)
            rz = (g[..., :2 * hidden] + a[..., :2 * hidden]).sigmoid_()
            n = torch.addcmul(g[..., 2 * hidden:], rz[..., :hidden], a[..., 2 * hidden:]).tanh_()
            state = torch.lerp(n, state, rz[..., hidden:])
            for kept, value in ((states, state), (gates, rz), (candidates, n), (recurrent, a[..., 2 * hidden:])):
                kept.append(value)
        ctx.save_for_backward(onehot, table, weight)
        ctx.steps = states, gates, candidates, recurrent
        return torch.stack(states[1:])

    @staticmethod
    def backward(ctx, grad_states: Tensor) -> tuple[None, Tensor, Tensor, Tensor]:
        """Gradients with respect to the table, the weight and the bias."""
        onehot, table, weight = ctx.saved_tensors
        states, gates, candidates, recurrent = ctx.steps
        hidden = weight.shape[1]
        grad_table, grad_weight = torch.zeros_like(table), torch.zeros_like(weight)
        grad_bias = weight.new_zeros(len(weight), 1, 3 * hidden)
        grad_a = grad_states.new_empty(*grad_states.shape[1:3], 3 * hidden)
        grad_rz = grad_a.new_empty(*grad_a.shape[:2], 2 * hidden)
        carried = torch.zeros_like(states[0])
        for t in reversed(range(len(onehot))):
            rz, n = gates[t], candidates[t]
            grad = carried + grad_states[t]
            kept = grad * rz[..., hidden:]
            grad_n = grad - kept
            grad_n.addcmul_(grad_n, n * n, value=-1)                              # through the tanh: times 1 - n^2
            torch.mul(grad_n, recurrent[t], out=grad_rz[..., :hidden])
            torch.mul(grad, states[t] - n, out=grad_rz[..., hidden:])
            slope = torch.addcmul(rz, rz, rz, value=-1)                           # of the sigmoid: s (1 - s)
            torch.mul(grad_rz, slope, out=grad_a[..., :2 * hidden])
            grad_a[..., 2 * hidden:] = grad_n
            grad_table.baddbmm_(onehot[t].transpose(1, 2), grad_a)
            grad_a[..., 2 * hidden:] *= rz[..., :hidden]
            grad_weight.baddbmm_(states[t].transpose(1, 2), grad_a)
            grad_bias += grad_a.sum(1, keepdim=True)
            carried = torch.baddbmm(kept, grad_a, weight.transpose(1, 2))
        return None, grad_table, grad_weight, grad_bias


class ReplicaGRU(nn.Module):
    """Several GRU racers of one shape side by side: each step is one batched product for all.

    Parameters
    ----------
    racers : sequence of GRURacer
        The replicas, with their own weights; these are copied.
    """

    def __init__(self, racers: Sequence[GRURacer]) -> None:
        super().__init__()
        shapes = {(r.embedding.weight.shape, r.readout.weight.shape) for r in racers}
        if len(shapes) != 1:
            raise ValueError(f"racers has {len(shapes)} different shapes; one or more racers of one shape are needed")

        def stack(get: Callable[[GRURacer], Tensor]) -> nn.Parameter:
            return nn.Parameter(torch.stack([get(racer).detach().clone() for racer in racers]))

        self.embedding = stack(lambda r: r.embedding.weight)                   # (R, V, H)
        self.weight_ih = stack(lambda r: r.recurrence.weight_ih_l0.T)          # (R, H, 3H)
        self.weight_hh = stack(lambda r: r.recurrence.weight_hh_l0.T)          # (R, H, 3H)
        self.bias_ih = stack(lambda r: r.recurrence.bias_ih_l0[None])          # (R, 1, 3H)
        self.bias_hh = stack(lambda r: r.recurrence.bias_hh_l0[None])          # (R, 1, 3H)
        self.readout = stack(lambda r: r.readout.weight.T)                     # (R, H, V)
        self.readout_bias = stack(lambda r: r.readout.bias[None])              # (R, 1, V)

    def racers(self) -> list[GRURacer]:
        """The replicas as single networks, with copies of their present weights."""
        _replicas, vocabulary, hidden_size = self.embedding.shape
        singles = []
        with torch.no_grad():
            for i in range(len(self.embedding)):
                single = build_with_seed(lambda: GRURacer(vocabulary, hidden_size), 0)
                recurrence = single.recurrence
                for target, source in ((single.embedding.weight, self.embedding[i]),
                                       (recurrence.weight_ih_l0, self.weight_ih[i].T),
                                       (recurrence.weight_hh_l0, self.weight_hh[i].T),
                                       (recurrence.bias_ih_l0, self.bias_ih[i, 0]),
                                       (recurrence.bias_hh_l0, self.bias_hh[i, 0]),
                                       (single.readout.weight, self.readout[i].T),
                                       (single.readout.bias, self.readout_bias[i, 0])):
                    target.copy_(source)
                singles.append(single)
        return singles

    def states(self, ids: Tensor) -> Tensor:
        """States (T, R, B, H) of ids (R, B, T): replica i reads `ids[i]`."""
        replicas = len(self.embedding)
        if ids.ndim != 3 or len(ids) != replicas or ids.shape[2] < 1:
            raise ValueError(f"ids has shape {tuple(ids.shape)}; it must be ({replicas}, B, T) with T at least 1")
        table = torch.baddbmm(self.bias_ih, self.embedding, self.weight_ih)    # what each token sends: (R, V, 3H)
        onehot = F.one_hot(ids.permute(2, 0, 1), table.shape[1]).to(table.dtype)
        return ReplicaScan.apply(onehot, table, self.weight_hh, self.bias_hh)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (R, B, T, V) of ids (R, B, T)."""
        states = self.states(ids).permute(1, 2, 0, 3).flatten(1, 2)            # (R, B T, H)
        return torch.baddbmm(self.readout_bias, states, self.readout).unflatten(1, ids.shape[1:])


def clip_each_replica(parameters: Iterable[nn.Parameter], max_norm: float) -> Tensor:
    """Scale the gradient of each replica to a norm of at most `max_norm`; return the norms before, shape (R,).

    The norm of a replica runs over all parameters, as in `torch.nn.utils.clip_grad_norm_`.
    """
    if not max_norm > 0:
        raise ValueError(f"max_norm is {max_norm}; it must be positive")
    gradients = [parameter.grad for parameter in parameters]
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in gradients]).norm(dim=0)
    scale = (max_norm / (norms + 1e-6)).clamp(max=1.0)
    for g in gradients:
        g.mul_(scale.view(-1, *[1] * (g.ndim - 1)))
    return norms


@torch.no_grad()
def replica_accuracy(network: ReplicaGRU, held_out: Task) -> list[float]:
    """Share of scored answers that each replica gets right on the same rows."""
    replicas, right = len(network.embedding), 0
    for ids, targets, mask in zip(*(part.split(BATCH_SIZE) for part in held_out)):
        answers = network(ids.expand(replicas, -1, -1)).argmax(-1)
        right = right + ((answers == targets) * mask).sum((1, 2))
    return (right / held_out.mask.sum()).tolist()


def train_replicas(network: ReplicaGRU, task: Task, held_out: Task, *, updates: int,
                   generators: Sequence[torch.Generator]) -> list[list[float]]:
    """Train every replica on the batches of its own generator, as `lessonlib.training.train` would.

    Returns
    -------
    list of list of float
        Held-out accuracy, one list of R values per check; checks come every `CHECK_EVERY` updates.
    """
    if len(generators) != len(network.embedding):
        raise ValueError(f"generators has {len(generators)} entries; the network has {len(network.embedding)} replicas")
    optimiser = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, fused=True)  # same rule, fewer passes
    checks = []
    for update in range(1, updates + 1):
        batches = [draw_batch(task, BATCH_SIZE, generator) for generator in generators]
        batch = Task(*(torch.stack(part) for part in zip(*batches)))
        loss = masked_loss(network(batch.inputs), batch.targets, batch.mask)  # mean over the replicas
        optimiser.zero_grad()
        (loss * len(batches)).backward()                                      # each replica's own mean
        clip_each_replica(network.parameters(), MAX_NORM)
        optimiser.step()
        if update % CHECK_EVERY == 0:
            checks.append(replica_accuracy(network, held_out))
    return checks
