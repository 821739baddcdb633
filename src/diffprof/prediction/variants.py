"""The same generation done otherwise: with quantized weights, or with a cache that skips calls of the denoiser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from diffprof.errors import RequestError
from diffprof.prediction.workload import GEMM, MEMORY, CallLoads, Load, Workload


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
    "nf4": Scheme(4, 1, source=_FLUX),
    "fp4": Scheme(4, 1, source=_FLUX),
    "int8": Scheme(8, 4, source=_FLUX),
    "fp8": Scheme(8, 4, source=_FLUX),
    "int4": Scheme(4, 6, source="as int8, and unpacked from halves of bytes"),
    "llm-int8": Scheme(8, 24, source=_FLUX),
    "gguf-q8_0": Scheme(8.5, 4, source=_FLUX),
    "gguf-q4_k": Scheme(4.5, 16, source=_FLUX),
    "int8-dynamic": Scheme(8, 0, "int8", _COMPILED),
    "fp8-dynamic": Scheme(8, 0, "float8", _COMPILED),
}
"""By name; docs/prediction.md says which libraries do which."""

LAYERWISE_PASSES = 1.0


def quantize(workload: Workload, schemes: Mapping[str, str], layerwise: str | None = None) -> Workload:
    """The workload with the linear layers of components in these schemes."""
    for component, name in schemes.items():
        if name not in SCHEMES:
            raise RequestError(f"Unknown quantization {name!r}; use one of {', '.join(SCHEMES)}.")
        if component not in {call.component for call in workload.calls}:
            known = sorted({call.component for call in workload.calls} - {"pipeline"})
            raise RequestError(f"The pipeline calls no component {component!r}; it calls {', '.join(known)}.")
    calls = [_quantized_call(call, schemes.get(call.component), layerwise) for call in workload.calls]
    return replace(workload, calls=tuple(calls))


def stored_share(scheme: str | None) -> float:
    """Of 16-bit weights, what is stored in a scheme: nearly all weights of the usual components are linear layers'."""
    return 1.0 if scheme is None else SCHEMES[scheme].bits / 16


def _quantized_call(call: CallLoads, name: str | None, layerwise: str | None) -> CallLoads:
    if name is not None:
        scheme = SCHEMES[name]
    elif layerwise is not None and call.in_loop:
        scheme = Scheme(8, LAYERWISE_PASSES)
    else:
        return call
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
