"""Multi-head self-attention over a sequence at once, and one position at a time from a cache of keys and values.

Dimensions: B sequences in a batch, T positions, D width, N heads of width D / N. Inputs and outputs have shape
(B, T, D). Vaswani et al. (2017), section 3.2.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lessonlib.arguments import count
from lessonlib.attention import attend, causal_mask, scaled_scores

Cache = tuple[Tensor, Tensor]  # keys and values of the positions read so far, each (B, N, T, D / N)


class SelfAttention(nn.Module):
    """Self-attention with several heads; the same parameters as `nn.MultiheadAttention`, stacked the same way.

    Parameters
    ----------
    width, heads : int
        D and N; N divides D. There are 4 D (D + 1) parameters.
    causal : bool
        Whether position t sees positions 1 to t only.
    """

    def __init__(self, width: int, heads: int, *, causal: bool = True) -> None:
        super().__init__()
        if count("width", width) % count("heads", heads):
            raise ValueError(f"heads is {heads}; it must divide the width, {width}")
        self.heads, self.causal = heads, causal
        self.into = nn.Linear(width, 3 * width)  # queries, keys and values, in this order
        self.out = nn.Linear(width, width)

    @classmethod
    def from_torch(cls, layer: nn.MultiheadAttention, *, causal: bool = True) -> SelfAttention:
        """A copy of PyTorch's layer, of its type and with its weights."""
        made = cls(layer.embed_dim, layer.num_heads, causal=causal).to(layer.out_proj.weight.dtype)
        made.into.load_state_dict({"weight": layer.in_proj_weight, "bias": layer.in_proj_bias})
        made.out.load_state_dict(layer.out_proj.state_dict())
        return made

    def _heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, each (B, N, T, D / N)."""
        if x.ndim != 3 or x.shape[-1] != self.out.in_features or x.shape[1] == 0:
            raise ValueError(f"x has shape {tuple(x.shape)}; it must be (B, T, {self.out.in_features}) with T at least 1")
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.into(x).chunk(3, -1))
        return q, k, v

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Outputs (B, T, D) and weights (B, N, T, T).

        Parameters
        ----------
        x : Tensor, shape (B, T, D)
        mask : Tensor of bool, optional, shape (B, T)
            True where a position holds data and may be looked at.
        """
        q, k, v = self._heads(x)
        visible = causal_mask(x.shape[1])[None, None].to(x.device) if self.causal else None
        if mask is not None:
            if mask.shape != x.shape[:2]:
                raise ValueError(f"mask has shape {tuple(mask.shape)}; it must be {tuple(x.shape[:2])}")
            visible = mask[:, None, None] if visible is None else visible & mask[:, None, None]
        context, weights = attend(scaled_scores(q, k), v, visible)
        return self.out(context.transpose(1, 2).flatten(2)), weights

    def step(self, x_t: Tensor, cache: Cache | None = None) -> tuple[Tensor, Cache]:
        """The output at the next position, and the cache longer by one.

        Parameters
        ----------
        x_t : Tensor, shape (B, D)
        cache : optional
            As the step before returned it; None at the first position.

        Returns
        -------
        output, cache
            Output (B, D), as `forward` of a causal layer gives it at this position.
        """
        if not self.causal or x_t.ndim != 2:
            raise ValueError(f"causal is {self.causal} and x_t has shape {tuple(x_t.shape)}; a step needs a causal layer and (B, D)")
        q, k, v = self._heads(x_t[:, None])
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        context, _ = attend(scaled_scores(q, k), v)
        return self.out(context.transpose(1, 2).flatten(2))[:, 0], (k, v)
