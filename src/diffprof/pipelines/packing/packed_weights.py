"""Weights that are stored in fewer bits than they are computed with: bitsandbytes, GGUF, torchao, quanto, or planned.

A `PackedWeight` has all facts about such a weight that counting needs, whichever library packed it. A model without
weights has the same facts (`plan_packing`), so that both are counted by the same code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class PackedWeight:
    """A packed weight: its original shape, its bytes, and how products with it are computed."""

    kind: str
    """The name of the packing: ``nf4``, ``int8``, ``float8_e4m3fn``, ``Q4_K``..."""
    shape: tuple[int, ...]
    """The shape of the unpacked weight."""
    stored_bytes: int
    """Packed data, scales, zero points and tables."""
    product_dtype: torch.dtype | None = None
    """The dtype of the product; None for the dtype of its input."""
    input_dtype: torch.dtype | None = None
    """The dtype that the input is quantized to before the product; None if it is not quantized."""
    copies: tuple[torch.dtype | None, ...] = ()
    """Dtypes of successive unpacked copies of the whole weight that a product makes; None for the input's dtype."""
    fused_rows: int = 0
    """Up to this many input rows, a kernel unpacks while it computes, without a copy."""
    unpacking_flops: int = 1
    """FLOPs per unpacked element: 1 for a scale, 2 for a scale and an offset."""

    @property
    def elements(self) -> int:
        return torch.Size(self.shape).numel()


def packed_weight(weight: torch.Tensor) -> PackedWeight | None:
    """Return the facts of a packed weight; None for an ordinary one."""
    kind = type(weight)
    if kind is torch.nn.Parameter or kind is torch.Tensor:
        return getattr(weight, PLANNED, None)
    if hasattr(weight, "quant_type") and hasattr(weight, "quant_shape"):
        return _gguf(weight)
    if getattr(weight, "quant_state", None) is not None:
        return _four_bits(weight)
    if hasattr(weight, "SCB"):
        return _int8(weight)
    if hasattr(weight, "__tensor_flatten__") and not is_sharded(weight):
        return _wrapper(weight)
    return None


def is_sharded(weight: torch.Tensor | None) -> bool:
    """Whether it is a `DTensor`: with tensor parallelism, every rank has a part or a copy of the weight."""
    return weight is not None and type(weight).__module__.startswith("torch.distributed.")


def own_part(weight: torch.Tensor) -> torch.Tensor:
    """Return this rank's part of a weight."""
    part: torch.Tensor = weight._local_tensor if is_sharded(weight) else weight  # type: ignore[attr-defined]
    return part


PLANNED = "_diffprof_packed"


def plan_packing(weight: torch.Tensor, packed: PackedWeight) -> None:
    """Mark a weight without data as packed."""
    setattr(weight, PLANNED, packed)


def stored_tensors(weight: torch.Tensor) -> Iterator[torch.Tensor]:
    """Yield the tensors that store a weight: itself, or those inside a wrapper, with scales and tables."""
    if hasattr(weight, "__tensor_flatten__"):
        for name in weight.__tensor_flatten__()[0]:
            yield from stored_tensors(getattr(weight, name))
        return
    yield weight
    state: Any = getattr(weight, "quant_state", None)
    while state is not None:
        yield from (part for part in (state.absmax, state.code, state.offset) if isinstance(part, torch.Tensor))
        state = state.state2
    scales = getattr(weight, "SCB", None)
    if isinstance(scales, torch.Tensor):
        yield scales


def _stored_bytes(weight: torch.Tensor) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in stored_tensors(weight))


def _gguf(weight: Any) -> PackedWeight:
    """diffusers unpacks GGUF to float16, and then casts to the dtype that it computes in."""
    return PackedWeight(
        kind=str(getattr(weight.quant_type, "name", weight.quant_type)),
        shape=tuple(weight.quant_shape),
        stored_bytes=_stored_bytes(weight),
        copies=(torch.float16, None),
        unpacking_flops=GGUF_OFFSETS.get(str(weight.quant_type.name), 1),
    )


GGUF_OFFSETS = {"Q4_1": 2, "Q5_1": 2, "Q2_K": 2, "Q4_K": 2, "Q5_K": 2}
"""FLOPs per element of GGUF types that have an offset as well as a scale."""


def _four_bits(weight: Any) -> PackedWeight:
    state = weight.quant_state
    return PackedWeight(
        kind=str(state.quant_type),
        shape=tuple(state.shape),
        stored_bytes=_stored_bytes(weight),
        copies=(None,),
        fused_rows=1,
    )


def _int8(weight: Any) -> PackedWeight | None:
    """bitsandbytes multiplies in int8; the scales are on the weight until the first call, and then on its layer."""
    if weight.dtype != torch.int8:
        return None  # not quantized yet, which happens on the way to its device
    scales = 0 if isinstance(weight.SCB, torch.Tensor) else weight.shape[0] * 4
    return PackedWeight(
        kind="int8",
        shape=tuple(weight.shape),
        stored_bytes=_stored_bytes(weight) + scales,
        product_dtype=torch.int8,
        input_dtype=torch.int8,
    )


def _wrapper(weight: Any) -> PackedWeight:
    """torchao and quanto store packed data, scales and zero points inside a tensor that looks like the weight."""
    inner = list(stored_tensors(weight))
    data = inner[0]
    qtype: Any = getattr(weight, "qtype", None)
    bits = getattr(qtype, "bits", None) or _bits_per_element(data, weight)
    dynamic = getattr(weight, "act_quant_kwargs", None) is not None
    quanto = type(weight).__module__.startswith("optimum.")
    fused = bits < 8 and not quanto
    if dynamic:
        copies: tuple[torch.dtype | None, ...] = ()
    elif quanto and data.dtype.is_floating_point:
        copies = (weight.dtype, weight.dtype)  # float8 is cast before it is scaled
    else:
        copies = () if fused else (None,)
    return PackedWeight(
        kind=_wrapper_kind(data, bits),
        shape=tuple(weight.shape),
        stored_bytes=sum(tensor.numel() * tensor.element_size() for tensor in inner),
        product_dtype=data.dtype if dynamic else None,
        input_dtype=data.dtype if dynamic else None,
        copies=copies,
        unpacking_flops=2 if bits < 8 else 1,
    )


def _bits_per_element(data: torch.Tensor, weight: torch.Tensor) -> int:
    """Return the bits per element of the weight in the packed data."""
    return round(8 * data.numel() * data.element_size() / max(weight.numel(), 1))


def _wrapper_kind(data: torch.Tensor, bits: int) -> str:
    return f"int{bits}" if bits < 8 else str(data.dtype).removeprefix("torch.")
