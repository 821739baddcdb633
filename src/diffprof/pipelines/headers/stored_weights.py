"""The stored weights of one component: how many, of which types, and their bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from diffprof.pipelines.headers.header import StoredTensor, bytes_by_dtype

COMPUTE_DTYPES = ("float32", "bfloat16", "float16", "float64")
"""Dtypes that layers compute in; weights of other types are unpacked or cast first."""

PACKED_BY_BITSANDBYTES = re.compile(r"^(?P<weight>.+)\.quant_state\.bitsandbytes__(?P<kind>nf4|fp4)$")
AUXILIARY_TENSORS = re.compile(
    r"\.(absmax|quant_map|nested_absmax|nested_quant_map|quant_state\.\w+|SCB|weight_format"
    r"|scale_weight|scale_input|weight_scale|weight_scale_2|input_scale|comfy_quant)$|^scaled_fp8$|\.scaled_fp8$"
)
"""Tensors of quantized files that are needed to unpack others: they take bytes, but are not weights of the model."""


@dataclass(frozen=True)
class StoredWeights:
    """The tensors of one component."""

    tensors: Mapping[str, StoredTensor]

    @property
    def bytes_by_dtype(self) -> dict[str, int]:
        return bytes_by_dtype(self.tensors.values())

    @property
    def elements(self) -> int:
        """The number of the model's weights, without the auxiliary tensors of quantized files."""
        return sum(tensor.elements for name, tensor in self.tensors.items() if not AUXILIARY_TENSORS.search(name))

    @property
    def main_dtype(self) -> str:
        """The storage type of most bytes."""
        return next(iter(self.bytes_by_dtype), "")

    @property
    def is_packed(self) -> bool:
        """Whether loading the weights in another dtype leaves the bytes unchanged."""
        return any(
            tensor.dtype not in COMPUTE_DTYPES and not _is_plain(tensor.dtype) for tensor in self.tensors.values()
        )


def _is_plain(dtype: str) -> bool:
    """Whether it is a dtype of torch, which loading in another dtype casts."""
    return dtype.startswith(("float", "int", "uint", "bool", "complex"))


def stored_weights(tensors: Mapping[str, StoredTensor]) -> StoredWeights:
    """Return the weights; those that are packed two to a byte have their unpacked shapes."""
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
"""Two numbers per byte of a row; each weight has scales for 16 elements, and one scale for these scales."""


def _unpacked_shape(tensor: StoredTensor, kind: str) -> tuple[int, ...]:
    if kind == NVFP4 and tensor.shape:
        return (*tensor.shape[:-1], 2 * tensor.shape[-1])
    return (2 * tensor.elements,)  # bitsandbytes stores the shape elsewhere, as text


def computing_dtype(stored: StoredWeights | None, otherwise: str) -> str:
    """Return the dtype that a component computes in by default: that of its weights, if layers can use it."""
    dtype = stored.main_dtype if stored is not None else ""
    return dtype if dtype in COMPUTE_DTYPES else otherwise
