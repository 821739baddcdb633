"""Models of the true architecture with random weights: the computation is the model's, the output is noise."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from diffprof.pipelines.building.build import construct, keep_in_float32, skip_initialisation
from diffprof.pipelines.patching import Patches
from diffprof.pipelines.plans.blueprint import PartPlan

SEED = 0
LARGEST_SPREAD = 0.02
"""Standard deviation of a weight with few inputs; with many it is smaller, so that their sum stays about 1."""
BLOCK_LENGTH = 1_048_573
"""A prime, so that repeated blocks do not align with the rows of any matrix."""


def random_model(
    owner: Any, plan: PartPlan, config: Mapping[str, Any], dtype: torch.dtype, device: torch.device
) -> torch.nn.Module:
    """Create a model whose code has filled its buffers, and whose weights are random with a sane scale."""
    # The libraries create the tables of a loaded model in the same way: in its dtype, and with values.
    with _default_dtype(dtype), Patches() as patches:
        skip_initialisation(patches)
        patches.function(torch.nn.Module, "register_parameter", _register_virtual)
        model = construct(owner, plan, config)
    model.eval()
    if dtype in (torch.float16, torch.bfloat16):
        keep_in_float32(model, dtype)
    _fill(model, device)
    return model.to(device)


def _register_virtual(original: Any) -> Any:
    """Keep weights without memory until all are known to fit; shared weights stay one object."""

    def register(module: torch.nn.Module, name: str, parameter: Any) -> None:
        original(module, name, parameter)
        if parameter is not None and not parameter.is_meta:
            module._parameters[name] = torch.nn.Parameter(parameter.to("meta"), parameter.requires_grad)

    return register


def _fill(model: torch.nn.Module, device: torch.device) -> None:
    numbers = _RandomNumbers(device)
    made: dict[int, torch.nn.Parameter] = {}
    for module in model.modules():
        for name, virtual in module._parameters.items():
            if virtual is None or not virtual.is_meta:
                continue
            if id(virtual) not in made:
                real = torch.empty(virtual.shape, dtype=virtual.dtype, device=device)
                _initialize(name, real, numbers)
                made[id(virtual)] = torch.nn.Parameter(real, virtual.requires_grad)
            module._parameters[name] = made[id(virtual)]


def _initialize(name: str, weight: torch.Tensor, numbers: _RandomNumbers) -> None:
    """Initialize a weight: zeros for biases and ones for scales, which have one dimension larger than 1."""
    if sum(length > 1 for length in weight.shape) > 1 and weight.is_floating_point():
        inputs = weight.numel() // weight.shape[0]
        numbers.write(weight, min(LARGEST_SPREAD, max(inputs, 1) ** -0.5))
    else:
        weight.fill_(0 if "bias" in name else 1)


class _RandomNumbers:
    """Normally distributed numbers as fast as memory: one repeated block of them, always the same."""

    def __init__(self, device: torch.device) -> None:
        self._block = torch.randn(BLOCK_LENGTH, generator=torch.Generator().manual_seed(SEED)).to(device)
        self._used = 0

    def write(self, weight: torch.Tensor, spread: float) -> None:
        flat, done = weight.view(-1), 0
        while done < flat.numel():
            part = self._block[self._used : self._used + flat.numel() - done]
            torch.mul(part, spread, out=flat[done : done + part.numel()])
            done += part.numel()
            self._used = (self._used + part.numel()) % BLOCK_LENGTH


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
