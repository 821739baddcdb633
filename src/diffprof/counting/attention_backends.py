"""Intercept attention at the call of a backend, so that the count does not depend on the backend."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch

from diffprof.counting.collectives import add_collective
from diffprof.counting.operations.functions import virtual_attention
from diffprof.counting.operations.virtual import VirtualMode
from diffprof.pipelines.patching import Patches


def catch_attention_backends(patches: Patches, mode: VirtualMode) -> None:
    """Intercept diffusers' backends (native, flash, varlen, sage, xformers, flex, hub kernels) and bare kernels."""
    from diffusers.models import attention_dispatch

    registry = attention_dispatch._AttentionBackendRegistry
    caught = {name: _wrap_backend(mode, backend) for name, backend in registry._backends.items()}
    patches.set(registry, "_backends", caught)
    patches.set(registry, "_checks_enabled", False)
    for module, functions in BARE_KERNELS.items():
        for name in functions if module in sys.modules else ():
            if hasattr(sys.modules[module], name):
                patches.function(sys.modules[module], name, lambda original: _wrap_backend(mode, original))


BARE_KERNELS = {
    "xformers.ops": ("memory_efficient_attention",),
    "flash_attn": ("flash_attn_func",),
    "flash_attn_interface": ("flash_attn_func",),
    "sageattention": ("sageattn",),
    "torch.nn.attention.flex_attention": ("flex_attention",),
    "transformers.integrations.flash_attention": ("_flash_attention_forward",),
}
"""Kernels that processors call without diffusers' registry, if their packages are installed."""

HEADS_FIRST = frozenset({"flex_attention", "sageattn"})
"""Kernels that take [batch, heads, tokens, size] by default; the others take [batch, tokens, heads, size]."""


def _wrap_backend(mode: VirtualMode, backend: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(backend)

    def attend(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        query, key, value = (_argument(given, name, f"{name}_states", name[0]) for name in ("query", "key", "value"))
        if not any(map(mode.is_virtual, (query, key, value))):
            return backend(*args, **kwargs)
        heads_first = given.get("tensor_layout", "HND" if backend.__name__ in HEADS_FIRST else "NHD") == "HND"
        mask = _argument(given, "attn_mask", "attn_bias", "attention_mask")
        causal = bool(given.get("is_causal", given.get("causal", False)))
        parallel = _context_parallel(given.get("_parallel_config"))
        if parallel is not None:
            result = _attend_in_parallel(mode, query, key, value, mask, causal, *parallel)
        else:
            result = _attend(mode, query, key, value, heads_first, mask, causal)
        if given.get("return_lse"):
            return result, torch.empty((*query.shape[:-1],), dtype=torch.float32, device=query.device)
        return result

    return attend


def _argument(given: Mapping[str, Any], *names: str) -> Any:
    """Return a kernel's argument under the first of these names that it has; None if it has none of them."""
    return next((given[name] for name in names if name in given), None)


def _attend(
    mode: VirtualMode, query: Any, key: Any, value: Any, heads_first: bool, mask: Any, causal: bool
) -> torch.Tensor:
    if not heads_first and query.dim() == 4:
        query, key, value = (tensor.transpose(1, 2) for tensor in (query, key, value))
    elif not heads_first and query.dim() == 3:  # xformers: [batch x heads, tokens, size]
        query, key, value = (tensor.unsqueeze(0) for tensor in (query, key, value))
        return virtual_attention(mode.recorder, query, key, value, mask, causal).squeeze(0)
    result = virtual_attention(mode.recorder, query, key, value, mask, causal)
    return result if heads_first else result.transpose(1, 2)


def _context_parallel(config: Any) -> tuple[int, int] | None:
    """Return the degrees of Ulysses and ring attention; None without context parallelism."""
    context = getattr(config, "context_parallel_config", None)
    degrees = getattr(context, "ulysses_degree", None) or 1, getattr(context, "ring_degree", None) or 1
    return degrees if max(degrees) > 1 else None


def _attend_in_parallel(
    mode: VirtualMode, query: Any, key: Any, value: Any, mask: Any, causal: bool, ulysses: int, ring: int
) -> torch.Tensor:
    """Count the part of attention [batch, tokens, heads, size] that one rank computes from its part of the tokens.

    Ulysses exchanges tokens for heads: each rank attends with all tokens of its group and part of the heads. In a ring,
    a rank attends to the gathered keys and values of one rank after the other.
    """
    recorder = mode.recorder
    for tensor in (query, key, value) if ulysses > 1 else ():
        add_collective(recorder, "all_to_all_single", [tensor], [tensor])
    if mask is not None and ulysses > 1 and mask.shape[-1] == key.shape[1]:  # the mask of the rank's own tokens
        gathered_mask = _virtual((*mask.shape[:-1], mask.shape[-1] * ulysses), mask.dtype)
        add_collective(recorder, "all_gather", [mask], [gathered_mask])
        mask = gathered_mask
    query_part, key_part, value_part = (_exchange(tensor, ulysses) for tensor in (query, key, value))
    if ring > 1:
        parts = [key_part, value_part]
        gathered = [_virtual((ring, *tensor.shape), tensor.dtype) for tensor in parts]
        add_collective(recorder, "all_gather_tensor", parts, gathered)
    for _ in range(ring):
        result = _attend(mode, query_part, key_part, value_part, False, mask, causal)
    if ulysses > 1:
        add_collective(recorder, "all_to_all_single", [result], [result])
    return _virtual((*query.shape[:-1], value.shape[-1]), value.dtype)


def _exchange(tensor: torch.Tensor, ranks: int) -> torch.Tensor:
    """Return all tokens of a group of ranks, with this rank's part of the heads; the last part may be padded."""
    batch, tokens, heads, size = tensor.shape
    return _virtual((batch, tokens * ranks, -(-heads // ranks), size), tensor.dtype)


def _virtual(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    with torch._C._DisableTorchDispatch():
        return torch.empty(shape, dtype=dtype, device="meta")
