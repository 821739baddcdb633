"""The same generation done otherwise: with quantized weights, or with a cache that skips calls of the denoiser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from diffprof.errors import RequestError
from diffprof.prediction.workload import GEMM, MEMORY, CallLoads, Load, Workload
from diffprof.settings.quantizations import GGUF_BLOCKS


@dataclass(frozen=True)
class Scheme:
    """A way to keep weights in fewer bits."""

    bits: float
    passes: float
    """How often the unpacked weights are moved before each product: none where the kernel unpacks them itself."""
    computes_in: str | None = None
    """The dtype of the products, where activations are quantized too."""
    source: str = ""


_FLUX = "FLUX.1-dev on an H100, with and without: huggingface/blog diffusers-quantization.md"
_COMPILED = "FLUX.1-dev on an H100, compiled: sayakpaul/diffusers-torchao README.md"
SCHEMES = {
    "bitsandbytes:nf4": Scheme(4, 1, source=_FLUX),
    "bitsandbytes:nf4-double": Scheme(4, 1, source=_FLUX),
    "bitsandbytes:fp4": Scheme(4, 1, source=_FLUX),
    "bitsandbytes:int8": Scheme(8, 24, source=_FLUX),
    "torchao:int8": Scheme(8, 4, source=_FLUX),
    "torchao:fp8": Scheme(8, 4, source=_FLUX),
    "torchao:int4": Scheme(4, 6, source="as int8, and unpacked from halves of bytes"),
    "torchao:int8-dynamic": Scheme(8, 0, "int8", _COMPILED),
    "torchao:fp8-dynamic": Scheme(8, 0, "float8", _COMPILED),
    "quanto:int8": Scheme(8, 4, source=_FLUX),
    "quanto:fp8": Scheme(8, 4, source=_FLUX),
    "quanto:int4": Scheme(4, 6, source="as int8, and unpacked from halves of bytes"),
    "quanto:int2": Scheme(2, 6, source="as int4"),
    **{
        f"gguf:{name}": Scheme(8 * size / elements, 4 if name == "Q8_0" else 16, source=_FLUX)
        for name, (elements, size) in GGUF_BLOCKS.items()
    },
}
"""By library and kind, as `settings.quantizations` names them."""

LAYERWISE = Scheme(8, 1, source=_FLUX)
"""Layers that are kept in 8 bits and cast before each use."""


def quantize(workload: Workload, schemes: Mapping[str, str], layerwise: Mapping[str, str] | None = None) -> Workload:
    """The workload with the linear layers of components in these schemes, or kept in another dtype."""
    called = {call.component for call in workload.calls}
    for component in (*schemes, *(layerwise or {})):
        if component not in called:
            known = ", ".join(sorted(called - {"pipeline"}))
            raise RequestError(f"The pipeline calls no component {component!r}; it calls {known}.")
    chosen = dict.fromkeys(layerwise or {}, LAYERWISE) | {slot: SCHEMES[name] for slot, name in schemes.items()}
    calls = [
        _quantized_call(call, chosen[call.component]) if call.component in chosen else call for call in workload.calls
    ]
    return replace(workload, calls=tuple(calls))


def stored_share(scheme: str | None) -> float:
    """Of 16-bit weights, what is stored in a scheme: nearly all weights of the usual components are linear layers'."""
    return 1.0 if scheme is None else SCHEMES[scheme].bits / 16


def _quantized_call(call: CallLoads, scheme: Scheme) -> CallLoads:
    loads: list[Load] = []
    for load in call.loads:
        loads.append(_quantized_product(load, scheme) if load.kind == "linear" and load.sort == GEMM else load)
        if load.kind == "linear" and load.sort == GEMM and scheme.passes:
            loads.append(_unpacking(load, scheme))
    return replace(call, loads=tuple(loads))


def _quantized_product(load: Load, scheme: Scheme) -> Load:
    if scheme.computes_in is None:
        return load
    saved = round(load.weight_bytes * (1 - scheme.bits / 16))
    return replace(load, dtype=scheme.computes_in, read_bytes=load.read_bytes - saved)


def _unpacking(load: Load, scheme: Scheme) -> Load:
    moved = round(load.weight_bytes * scheme.passes / 2)
    return Load(MEMORY, "dequantization", load.dtype, load.count, 0, 1, moved, moved, elements=load.weight_bytes // 2)


def skip_calls(workload: Workload, denoisers: frozenset[str], rate: float) -> Workload:
    """The workload with this share of the denoiser's calls left out, as a cache does that skips whole calls."""
    if not 0 <= rate < 1:
        raise RequestError(f"The share of skipped calls must be from 0 to below 1, not {rate:g}.")
    calls = [
        replace(call, times=call.times * (1 - rate)) if call.in_loop and call.component in denoisers else call
        for call in workload.calls
    ]
    return replace(workload, calls=tuple(calls))
