"""Muon: gradient descent in which every matrix moves equally far in all of its directions.

After Keller Jordan and others, "Muon: An optimizer for hidden layers in neural networks" (2024). ``torch.optim.Muon``
takes matrices only; most of these weights are convolutions, which are matrices of outputs x (inputs x places).
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

MOMENTUM = 0.95
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the polynomial that takes singular values towards one in five rounds."""


class Muon(torch.optim.Optimizer):
    """Steps along the momentum, its singular values made about equal."""

    def __init__(self, weights: Iterable[Tensor], lr: float) -> None:
        super().__init__(weights, {"lr": lr})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                momentum = self.state[weight].setdefault("momentum", torch.zeros_like(weight))
                momentum.lerp_(weight.grad, 1 - MOMENTUM)
                direction = orthogonalize(weight.grad.lerp(momentum, MOMENTUM))
                taller = max(1.0, weight.shape[0] / weight[0].numel())
                weight.add_(direction, alpha=-group["lr"] * taller**0.5)


def orthogonalize(gradient: Tensor) -> Tensor:
    """Return the gradient as a matrix whose singular values are about one (five rounds of Newton and Schulz)."""
    first, third, fifth = COEFFICIENTS
    matrix = gradient.flatten(1)
    tall = matrix.shape[0] > matrix.shape[1]
    matrix = matrix.T if tall else matrix
    matrix = matrix / (matrix.norm() + 1e-7)
    for _ in range(5):
        square = matrix @ matrix.T
        matrix = first * matrix + (third * square + fifth * square @ square) @ matrix
    return (matrix.T if tall else matrix).reshape(gradient.shape)


def optimizers_of(models: Iterable[nn.Module], rate: float, plain_rate: float) -> list[torch.optim.Optimizer]:
    """Muon for the matrices between first and last; Adam for these two, for what is looked up, and for vectors."""
    matrices: list[Tensor] = []
    rest: list[Tensor] = []
    for model in models:
        looked_up = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
        for name, weight in model.named_parameters():
            outer = any(part in ("conv_in", "conv_out") for part in name.split("."))
            (rest if weight.ndim < 2 or outer or id(weight) in looked_up else matrices).append(weight)
    return [Muon(matrices, rate), torch.optim.Adam(rest, plain_rate, betas=(0.9, 0.99))]
