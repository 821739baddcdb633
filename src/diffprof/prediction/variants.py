"""Variants of a generation: with quantized weights, without a component, or with calls that a cache skips."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from math import ceil

from diffprof.errors import RequestError
from diffprof.prediction.workload import GEMM, MEMORY, CallLoads, Load, Loads, Workload
from diffprof.settings.quantizations import LAYERWISE, QUANTIZATIONS, Quantization


def quantize(workload: Workload, schemes: Mapping[str, str], layerwise: Mapping[str, str] | None = None) -> Workload:
    """The workload with quantized linear layers, or with layers stored in another dtype."""
    chosen = dict.fromkeys(layerwise or {}, LAYERWISE) | {slot: QUANTIZATIONS[name] for slot, name in schemes.items()}
    calls = [
        _quantized_call(call, chosen[call.component]) if call.component in chosen else call for call in workload.calls
    ]
    return replace(workload, calls=tuple(calls))


def _quantized_call(call: CallLoads, scheme: Quantization) -> CallLoads:
    loads = call.loads.derive(("quantized", scheme), lambda loads: Loads(_quantized_loads(loads, scheme)))
    return replace(call, loads=loads, cost=None)


def _quantized_loads(loads: Loads, scheme: Quantization) -> Iterator[Load]:
    for load in loads:
        is_packed = load.kind == "linear" and load.sort == GEMM
        yield _quantized_product(load, scheme) if is_packed else load
        if is_packed and scheme.passes:
            yield _unpacking_load(load, scheme)


def _quantized_product(load: Load, scheme: Quantization) -> Load:
    if scheme.computes_in is None:
        return load
    saved = round(load.weight_bytes * (1 - scheme.bits / 16))
    return replace(load, dtype=scheme.computes_in, read_bytes=load.read_bytes - saved)


VALUES_PER_INDEX = 3
"""Weights that a kernel unpacks in the time in which it computes the index of one: two models on an H100."""


def _unpacking_load(load: Load, scheme: Quantization) -> Load:
    moved, elements = round(load.weight_bytes * scheme.passes / 2), load.weight_bytes // 2
    if scheme.rows_at_once:
        elements = max(elements, elements * ceil(load.rows / scheme.rows_at_once) // VALUES_PER_INDEX)
    return Load(
        MEMORY, "dequantization", load.dtype, load.count, 0, 1, moved, moved,
        elements=elements, scattered=bool(scheme.rows_at_once),
    )  # fmt: skip


def leave_out(workload: Workload, components: Collection[str]) -> Workload:
    """The workload without the calls of these components."""
    return replace(workload, calls=tuple(call for call in workload.calls if call.component not in components))


def skip_calls(workload: Workload, denoisers: frozenset[str], rate: float) -> Workload:
    """The workload without this share of the denoiser's calls, as with a cache that skips whole calls."""
    if not 0 <= rate < 1:
        raise RequestError(f"The share of skipped calls must be from 0 to below 1, not {rate:g}.")
    calls = [
        replace(call, times=call.times * (1 - rate)) if call.in_loop and call.component in denoisers else call
        for call in workload.calls
    ]
    return replace(workload, calls=tuple(calls))
