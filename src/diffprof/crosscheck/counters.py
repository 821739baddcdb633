"""Count one call with each tool.

All run without gradients, as a pipeline does. Each function returns MACs by part, named as in
`diffprof.crosscheck.result`; their sum is the tool's own total.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F

from diffprof.counting.dry_run import dry_run
from diffprof.counting.formulas import kinds
from diffprof.crosscheck.one_call import OneCall
from diffprof.crosscheck.result import (
    ATTENTION,
    CONVOLUTIONS,
    MATRIX_PRODUCTS,
    NORMS,
    OTHER,
    RESAMPLING,
    SOFTMAX,
    SQUARED,
)
from diffprof.pipelines.patching import Patches

Parts = dict[str, int]


class _OneCallPipeline:
    """A minimal pipeline for the dry run, which makes one call of one component."""

    def __init__(self, call: OneCall, tensors: Sequence[torch.Tensor]) -> None:
        self.config = {"component": ("", "")}
        self.component = call.component
        self._call = call.forward
        self._tensors = tensors

    def __call__(self) -> SimpleNamespace:
        with torch.no_grad():
            self._call(*self._tensors)
        return SimpleNamespace(values=lambda: ())


def with_diffprof(call: OneCall, tensors: Sequence[torch.Tensor]) -> tuple[Parts, int]:
    """Count with diffprof on virtual weights; also returns the peak bytes of activations of a real call."""
    result = dry_run(_OneCallPipeline(call, tensors), {})
    parts: Counter[str] = Counter()
    for executed in result.calls:
        for operation in executed.cost.operations:
            parts[OUR_PARTS.get(operation.kind, OTHER)] += operation.work.macs
    peak = max((executed.cost.peak_live_bytes for executed in result.calls), default=0)
    return {part: macs for part, macs in parts.items() if macs}, peak


OUR_PARTS = {
    kinds.LINEAR: MATRIX_PRODUCTS,
    kinds.MATMUL: MATRIX_PRODUCTS,
    kinds.CONVOLUTION: CONVOLUTIONS,
    kinds.ATTENTION: ATTENTION,
}


def with_thop(call: OneCall, tensors: Sequence[torch.Tensor]) -> Parts:
    """Count with thop, which hooks known layer classes and does not see attention, because that is a function."""
    import thop

    _, _, layers = thop.profile(call, inputs=tuple(tensors), verbose=False, ret_layer_info=True)
    parts: Counter[str] = Counter()
    _add_layers(call, layers, parts)
    return dict(parts)


def _add_layers(module: torch.nn.Module, layers: Mapping[str, Any], parts: Counter[str]) -> None:
    for name, (macs, _, inner) in layers.items():
        child = module.get_submodule(name)
        if inner:
            _add_layers(child, inner, parts)
        elif macs:
            parts[_part_of(type(child).__name__.lower())] += int(macs)


def with_thop_and_attention(call: OneCall, tensors: Sequence[torch.Tensor]) -> Parts:
    """Count with thop, and attention as in the original guides, by replacing `scaled_dot_product_attention`.

    Their formula uses N, the query tokens, for the key tokens, too: B·H·N²·D for QKᵀ, the same for AV, and B·H·N² for
    the softmax. It is right for self-attention, except for the softmax; for cross-attention it counts N² instead of
    N·N_k.
    """
    parts: Counter[str] = Counter()

    def wrap_attention(original: Callable[..., Any]) -> Callable[..., Any]:
        def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *rest: Any, **options: Any) -> Any:
            batch, heads, tokens, size = query.shape
            squared = 2 * batch * heads * tokens * tokens * size
            products = 2 * batch * heads * tokens * key.shape[-2] * size
            parts[ATTENTION] += products
            parts[SQUARED] += squared - products
            parts[SOFTMAX] += batch * heads * tokens * tokens
            return original(query, key, value, *rest, **options)

        return attend

    with Patches() as patches:
        patches.function(F, "scaled_dot_product_attention", wrap_attention)
        layers = with_thop(call, tensors)
    return {part: macs for part, macs in (parts + Counter(layers)).items() if macs}


def with_calflops(call: OneCall, tensors: Sequence[torch.Tensor]) -> Parts:
    """Count with calflops, which replaces functions of torch, but not scaled_dot_product_attention."""
    from calflops import calculate_pipline

    pipeline = calculate_pipline.CalFlopsPipline(call, include_backPropagation=False, compute_bp_factor=2.0)
    pipeline.start_flops_calculate()
    parts: Counter[str] = Counter()

    def note(module: torch.nn.Module, inputs: Any, output: Any) -> None:
        if calculate_pipline.module_mac_count:
            # calflops keeps the bound `__str__` of a function as its name.
            for name_of, macs in calculate_pipline.module_mac_count[-1]:
                parts[_part_of(name_of())] += macs

    for module in call.modules():
        if hasattr(module, "__post_hook_handle__"):
            module.register_forward_hook(note, prepend=True)
    with torch.no_grad():
        call(*tensors)
    pipeline.end_flops_calculate()
    return dict(parts)


def with_fvcore(call: OneCall, tensors: Sequence[torch.Tensor]) -> Parts:
    """Count with fvcore, which traces the call and counts one fused multiply-add as one FLOP, as a MAC."""
    from fvcore.nn import FlopCountAnalysis

    with torch.no_grad():
        analysis = FlopCountAnalysis(call, tuple(tensors))
        analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False).tracer_warnings("none")
        counts = analysis.by_operator()
    parts: Counter[str] = Counter()
    for operator, macs in counts.items():
        parts[_part_of(operator)] += int(macs)
    return {part: macs for part, macs in parts.items() if macs}


def with_flop_counter(call: OneCall, tensors: Sequence[torch.Tensor]) -> Parts:
    """Count with torch's FlopCounterMode, which sees all ATen operations and has formulas for some; MACs are half
    of its FLOPs."""
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        call(*tensors)
    parts: Counter[str] = Counter()
    for operator, flops in counter.get_flop_counts().get("Global", {}).items():
        parts[_part_of(str(operator))] += flops // 2
    return dict(parts)


COUNTERS: dict[str, Callable[[OneCall, Sequence[torch.Tensor]], Parts]] = {
    "thop-sdpa": with_thop_and_attention,
    "thop": with_thop,
    "calflops": with_calflops,
    "fvcore": with_fvcore,
    "torch-meta": with_flop_counter,
    "torch-cpu": with_flop_counter,
}


def _part_of(name: str) -> str:
    """The part that a layer class, function or operator of this name belongs to."""
    return next((part for word, part in PARTS if word in name), OTHER)


PARTS = (
    ("attention", ATTENTION),
    ("norm", NORMS),
    ("softmax", SOFTMAX),
    ("conv", CONVOLUTIONS),
    ("pool", RESAMPLING),
    ("upsampl", RESAMPLING),
    ("interpolate", RESAMPLING),
    ("grid_sampl", RESAMPLING),
    ("linear", MATRIX_PRODUCTS),
    ("mm", MATRIX_PRODUCTS),
    ("matmul", MATRIX_PRODUCTS),
    ("einsum", MATRIX_PRODUCTS),
)
"""The part for each word in a name, the most specific words first."""
