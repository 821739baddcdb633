"""The weights of one component as its files hold them: how many, in which types, of how many bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from diffprof.pipelines.headers.header import StoredTensor, bytes_by_dtype

COMPUTED_IN = ("float32", "bfloat16", "float16", "float64")
"""Dtypes that layers compute in; weights of any other are unpacked or cast first."""

PACKED_BY_BITSANDBYTES = re.compile(r"^(?P<weight>.+)\.quant_state\.bitsandbytes__(?P<kind>nf4|fp4)$")
BESIDE_WEIGHTS = re.compile(
    r"\.(absmax|quant_map|nested_absmax|nested_quant_map|quant_state\.\w+|SCB|weight_format"
    r"|scale_weight|scale_input|weight_scale|weight_scale_2|input_scale|comfy_quant)$|^scaled_fp8$|\.scaled_fp8$"
)
"""Tensors that quantized files keep to unpack others: they take bytes, and are no weights of the model."""


@dataclass(frozen=True)
class StoredWeights:
    """The tensors of one component."""

    tensors: Mapping[str, StoredTensor]

    @property
    def bytes_by_dtype(self) -> dict[str, int]:
        return bytes_by_dtype(self.tensors.values())

    @property
    def elements(self) -> int:
        """Weights of the model, without what quantized files keep next to them."""
        return sum(tensor.elements for name, tensor in self.tensors.items() if not BESIDE_WEIGHTS.search(name))

    @property
    def main_dtype(self) -> str:
        """The type that most of the bytes are stored in."""
        return next(iter(self.bytes_by_dtype), "")

    @property
    def is_packed(self) -> bool:
        """Whether the bytes stay as they are when the weights are loaded in another dtype."""
        return any(tensor.dtype not in COMPUTED_IN and not _is_plain(tensor.dtype) for tensor in self.tensors.values())


def _is_plain(dtype: str) -> bool:
    """Whether it is a dtype of torch, which loading in another dtype casts."""
    return dtype.startswith(("float", "int", "uint", "bool", "complex"))


def stored_weights(tensors: Mapping[str, StoredTensor]) -> StoredWeights:
    """The weights; those that are packed two to a byte count as what they stand for."""
    packed = {
        match["weight"]: match["kind"] for match in map(PACKED_BY_BITSANDBYTES.match, tensors) if match is not None
    }
    packed |= {name.removesuffix(SCALE_OF_NVFP4): NVFP4 for name in tensors if name.endswith(f"weight{SCALE_OF_NVFP4}")}
    return StoredWeights(
        {
            name: replace(tensor, shape=_unpacked_shape(tensor, packed[name]), dtype=packed[name])
            if name in packed and tensor.dtype == "uint8"
            else tensor
            for name, tensor in tensors.items()
        }
    )


NVFP4, SCALE_OF_NVFP4 = "nvfp4", "_scale_2"
"""Two numbers to a byte of a row; beside each weight lie its scales by 16 elements, and one scale of these scales."""


def _unpacked_shape(tensor: StoredTensor, kind: str) -> tuple[int, ...]:
    if kind == NVFP4 and tensor.shape:
        return (*tensor.shape[:-1], 2 * tensor.shape[-1])
    return (2 * tensor.elements,)  # bitsandbytes keeps the shape elsewhere, as text


def computing_dtype(stored: StoredWeights | None, otherwise: str) -> str:
    """The dtype that a component computes in where none was requested: that of its weights, if layers can use it."""
    dtype = stored.main_dtype if stored is not None else ""
    return dtype if dtype in COMPUTED_IN else otherwise
