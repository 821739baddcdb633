"""Quantize models without weights: layers that a library would pack get the facts of packed weights.

The layouts are those of the libraries, and tests compare them with really quantized models: parameters stay, bytes are
the stored ones, and products are counted by the same code as those of a live quantized pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import torch

from diffprof.errors import RequestError
from diffprof.pipelines.packing.packed_weights import GGUF_OFFSETS, PackedWeight, plan_packing
from diffprof.settings.quantizations import GGUF_BLOCKS, GGUF_INSTEAD

Layout = Callable[[int, int, torch.dtype], PackedWeight | None]
"""(outputs, inputs, dtype) of a linear layer -> its packed weight; None if the library does not pack it."""


@dataclass(frozen=True)
class QuantizedModel:
    """The number of packed linear layers of a model, and of those that could not be packed."""

    packed: int
    left: int


def plan_quantization(slot: str, model: torch.nn.Module, quantization: str, left: Sequence[str] = ()) -> QuantizedModel:
    """Mark the linear layers of a model on virtual weights as packed; refused if none can be packed.

    `left` names modules that are not packed, besides those that the libraries never pack.
    """
    library, _, kind = quantization.partition(":")
    if library == "gguf" and _is_of_transformers(model):
        raise RequestError(
            f"{slot} cannot be quantized to {quantization}: transformers unpacks GGUF files when it loads them; "
            "use nf4, int8 or fp8 for it"
        )
    layout = LAYOUTS[quantization] if library != "gguf" else _gguf_layout(kind)
    layers = list(quantizable_layers(model, library, left))
    packed = 0
    for _, layer in layers:
        facts = layout(layer.out_features, layer.in_features, layer.weight.dtype)
        if facts is not None:
            plan_packing(layer.weight, facts)
            packed += 1
            if library == "quanto":
                _add_scales(layer)
    if not packed:
        reason = "its linear layers do not have the sizes for it" if layers else "it has no linear layers to pack"
        raise RequestError(f"{slot} ({type(model).__name__}) cannot be quantized to {quantization}: {reason}")
    return QuantizedModel(packed, len(layers) - packed)


def quantizable_layers(
    model: torch.nn.Module, library: str, left: Sequence[str] = ()
) -> Iterator[tuple[str, torch.nn.Linear]]:
    """Yield the linear layers that diffusers or transformers would quantize."""
    kept = [*kept_modules(model), *left]
    for path, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and path and not _is_kept(path, kept, library, model):
            yield path, module


def kept_modules(model: torch.nn.Module) -> list[str]:
    """Return the names of modules that are never quantized: those kept in float32, and heads of language models."""
    kept = list(getattr(model, "_keep_in_fp32_modules", None) or ())
    if _is_of_transformers(model):
        from transformers.quantizers.base import get_keys_to_not_convert

        kept += get_keys_to_not_convert(model)
    return kept


def _is_kept(path: str, kept: list[str], library: str, model: torch.nn.Module) -> bool:
    if _is_of_transformers(model):
        from transformers.quantizers.quantizers_utils import should_convert_module

        return not should_convert_module(path, kept)
    if path.rpartition(".")[2] in kept:
        return True
    # Except for quanto, diffusers compares the whole path.
    return library != "quanto" and any(f"{name}." in path or name == path for name in kept)


def _is_of_transformers(model: torch.nn.Module) -> bool:
    return getattr(type(model), "config_class", None) is not None


def _add_scales(layer: torch.nn.Linear) -> None:
    """Add the scales of quanto: every layer has one for its input and one for its output, quantized or not."""
    for name in ("input_scale", "output_scale"):
        layer.register_buffer(name, torch.empty((), dtype=layer.weight.dtype, device="meta"))


def _four_bits(kind: str, double: bool = False) -> Layout:
    """bitsandbytes: blocks of 64 elements with a float32 scale each; doubly quantized, scales are packed too."""

    def pack(outputs: int, inputs: int, dtype: torch.dtype) -> PackedWeight:
        elements = outputs * inputs
        blocks = ceil(elements / 64)
        scales = blocks + 4 * ceil(blocks / 256) + 4 * 256 + 4 if double else 4 * blocks
        stored = ceil(elements / 2) + scales + 4 * 16  # and a table of sixteen values
        return PackedWeight(kind, (outputs, inputs), stored, copies=(None,), fused_rows=1)

    return pack


def _bitsandbytes_int8(outputs: int, inputs: int, dtype: torch.dtype) -> PackedWeight:
    stored = outputs * inputs + 4 * outputs
    return PackedWeight("int8", (outputs, inputs), stored, product_dtype=torch.int8, input_dtype=torch.int8)


def _torchao(kind: str, data_dtype: torch.dtype, zero_points: int, dynamic: bool = False) -> Layout:
    """One byte per element; a float32 scale and possibly a zero point for each row."""

    def pack(outputs: int, inputs: int, dtype: torch.dtype) -> PackedWeight:
        stored = outputs * inputs + (4 + zero_points) * outputs
        computed_in = data_dtype if dynamic else None
        copies = () if dynamic else (None,)
        return PackedWeight(
            kind, (outputs, inputs), stored, product_dtype=computed_in, input_dtype=computed_in, copies=copies
        )

    return pack


def _torchao_int4(outputs: int, inputs: int, dtype: torch.dtype) -> PackedWeight | None:
    """Groups of 128 inputs with a scale and a zero point; other layers stay. The kernel unpacks on the fly."""
    if inputs % 128:
        return None
    stored = outputs * inputs // 2 + 2 * dtype.itemsize * outputs * (inputs // 128)
    return PackedWeight("int4", (outputs, inputs), stored, unpacking_flops=2)


def _quanto_bytes(kind: str, copies: int) -> Layout:
    def pack(outputs: int, inputs: int, dtype: torch.dtype) -> PackedWeight:
        stored = outputs * inputs + outputs * dtype.itemsize
        made: tuple[torch.dtype | None, ...] = (dtype,) * copies if copies > 1 else (None,)
        return PackedWeight(kind, (outputs, inputs), stored, copies=made)

    return pack


def _quanto_bits(bits: int) -> Layout:
    """Groups of up to 128 inputs with a scale and a shift in the weight's dtype; whole rows if none divides them."""

    def pack(outputs: int, inputs: int, dtype: torch.dtype) -> PackedWeight:
        group = next((size for size in (128, 96, 64, 32) if inputs % size == 0), inputs) if inputs > 128 else inputs
        groups = outputs * (inputs // group)
        rows = outputs if group == inputs else groups
        # 8 // bits rows of groups are packed into one.
        data = ceil(rows * bits / 8) * (outputs * inputs // rows)
        stored = data + 2 * groups * dtype.itemsize
        return PackedWeight(f"int{bits}", (outputs, inputs), stored, copies=(None,), unpacking_flops=2)

    return pack


def _gguf_layout(kind: str) -> Layout:
    """Rows in blocks of 32 or 256 elements; rows that are not a multiple use a type with smaller blocks."""

    def pack(outputs: int, inputs: int, dtype: torch.dtype) -> PackedWeight | None:
        own = kind if inputs % GGUF_BLOCKS[kind][0] == 0 else GGUF_INSTEAD.get(kind, kind)
        block, block_bytes = GGUF_BLOCKS[own]
        if inputs % block:
            return None
        stored = outputs * (inputs // block) * block_bytes
        flops = GGUF_OFFSETS.get(own, 1)
        return PackedWeight(own, (outputs, inputs), stored, copies=(torch.float16, None), unpacking_flops=flops)

    return pack


FP8 = torch.float8_e4m3fn
FP8_NAME = "float8_e4m3fn"

LAYOUTS: dict[str, Layout] = {
    "bitsandbytes:nf4": _four_bits("nf4"),
    "bitsandbytes:nf4-double": _four_bits("nf4", double=True),
    "bitsandbytes:fp4": _four_bits("fp4"),
    "bitsandbytes:int8": _bitsandbytes_int8,
    "torchao:int8": _torchao("int8", torch.int8, zero_points=1),
    "torchao:int8-dynamic": _torchao("int8", torch.int8, zero_points=1, dynamic=True),
    "torchao:fp8": _torchao(FP8_NAME, FP8, zero_points=0),
    "torchao:fp8-dynamic": _torchao(FP8_NAME, FP8, zero_points=0, dynamic=True),
    "torchao:int4": _torchao_int4,
    "quanto:int8": _quanto_bytes("int8", copies=1),
    "quanto:fp8": _quanto_bytes(FP8_NAME, copies=2),
    "quanto:int4": _quanto_bits(4),
    "quanto:int2": _quanto_bits(2),
}
"""How each library packs the weight of a linear layer; `_gguf_layout` makes those of GGUF."""
