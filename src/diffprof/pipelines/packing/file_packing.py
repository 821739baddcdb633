"""Give the layers of a model without weights the packed form that they have in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from diffprof.pipelines.headers.gguf import KINDS
from diffprof.pipelines.headers.stored_weights import NVFP4, StoredWeights
from diffprof.pipelines.packing.packed_weights import GGUF_OFFSETS, PackedWeight, plan_packing
from diffprof.pipelines.packing.quantization import LAYOUTS

BLOCKS = {name: (elements, size) for name, elements, size in KINDS.values() if elements > 1}
"""Elements and bytes of a block of each packed GGUF type."""

MARKS = (
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64, torch.bfloat16,
    torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2,
)  # fmt: skip
"""Dtypes that mark the types of a file's tensors while diffusers renames, splits and joins them."""

NO_MARK = torch.float16


def plan_file_packing(slot: str, model: Any, stored: StoredWeights) -> list[str]:
    """Give the linear layers the packed form that they have in the file; return sentences about unknown ones."""
    if not stored.is_packed:
        return []
    kinds = _kinds_by_name(model, stored)
    found = 0
    for path, layer in model.named_modules():
        kind = kinds.get(f"{path}.weight")
        if kind is not None and isinstance(layer, torch.nn.Linear):
            packed = _packed_weight(kind, layer)
            if packed is not None:
                plan_packing(layer.weight, packed)
                found += 1
    if found:
        return []
    return [f"{slot}: which layers the packed weights belong to is not known; they are counted as if unpacked"]


def _packed_weight(kind: str, layer: torch.nn.Linear) -> PackedWeight | None:
    if kind == NVFP4:
        # Four bits, an 8-bit scale for 16 elements, and a scale for all scales.
        shape = (layer.out_features, layer.in_features)
        stored = layer.out_features * layer.in_features // 2 + layer.out_features * layer.in_features // 16 + 4
        return PackedWeight(kind, shape, stored, copies=(None,))
    if kind in ("nf4", "fp4"):
        return LAYOUTS[f"bitsandbytes:{kind}"](layer.out_features, layer.in_features, layer.weight.dtype)
    block, size = BLOCKS[kind]
    if layer.in_features % block:
        return None  # no such file can exist; the names mean something else
    stored = layer.out_features * (layer.in_features // block) * size
    flops = GGUF_OFFSETS.get(kind, 1)
    shape = (layer.out_features, layer.in_features)
    return PackedWeight(kind, shape, stored, copies=(torch.float16, None), unpacking_flops=flops)


def _kinds_by_name(model: Any, stored: StoredWeights) -> dict[str, str]:
    """Return the packed types by the model's names for its weights."""
    types = {name: tensor.dtype for name, tensor in stored.tensors.items()}
    packed = {name: kind for name, kind in types.items() if kind in BLOCKS or kind in ("nf4", "fp4", NVFP4)}
    if any(name in packed for name in model.state_dict()):
        return packed
    return _converted_names(model, stored, packed)


def _converted_names(model: Any, stored: StoredWeights, packed: Mapping[str, str]) -> dict[str, str]:
    """Return them by the names of diffusers' converter, which works on tensors with marks as dtypes."""
    from diffusers.loaders.single_file_model import SINGLE_FILE_LOADABLE_CLASSES

    converter = SINGLE_FILE_LOADABLE_CLASSES.get(type(model).__name__)
    marks = dict(zip(dict.fromkeys(packed.values()), MARKS, strict=False))
    if converter is None or len(marks) < len(set(packed.values())):
        return {}
    tensors = {
        name: torch.empty(tensor.shape, device="meta", dtype=marks[packed[name]] if name in packed else NO_MARK)
        for name, tensor in stored.tensors.items()
    }
    try:
        converted = converter["checkpoint_mapping_fn"](checkpoint=tensors, config=dict(model.config))
    except Exception:  # noqa: BLE001  the converters expect the names of their own architecture
        return {}
    kinds = {mark: kind for kind, mark in marks.items()}
    return {name: kinds[tensor.dtype] for name, tensor in converted.items() if tensor.dtype in kinds}
