"""Recognise attention that consists of two matrix products around a softmax."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from diffprof.counting.formulas.kinds import ATTENTION
from diffprof.counting.formulas.products import AttentionShape
from diffprof.record.executed_calls import ExecutedOp

if TYPE_CHECKING:
    from diffprof.counting.operations.recorder import OperationRecorder


class UnfusedAttention:
    """Recognises QKᵀ, softmax and AV that are executed one by one, to separate attention from other matrix products."""

    def __init__(self, recorder: OperationRecorder) -> None:
        self.recorder = recorder
        self.product: tuple[ExecutedOp, dict[ExecutedOp, int], torch.Size, int] | None = None
        self.scores: tuple[torch.Size, int, int] | None = None
        self.masked = False

    def state(self) -> Any:
        """The state that the handling of the next operation depends on."""
        product = None if self.product is None else (id(self.product[0]), id(self.product[1]), *self.product[2:])
        return product, self.scores, self.masked and product is not None

    def observe(self, op: ExecutedOp, arguments: Sequence[Any], result: Any) -> None:
        if op.name in PRODUCTS:
            left = arguments[1] if op.name == "baddbmm" else arguments[0]
            shape = self.scores[0] if self.scores else None
            if shape is not None and left.shape[-1] == shape[-1] and left.numel() == shape.numel():
                self._observe_result(op, result)
                return
            self.product, self.masked = (op, self.recorder.tally, result.shape, left.shape[-1]), False
        elif op.name == "_softmax":
            self._observe_softmax(op, _first(result))
        elif self.product is not None and _first(result).numel() == self.product[2].numel():
            self.masked = True

    def _observe_softmax(self, op: ExecutedOp, probabilities: torch.Tensor) -> None:
        product, self.product, self.scores = self.product, None, None
        if product is None:
            return
        multiplied, tally, shape, head_size = product
        if shape.numel() == probabilities.numel() and shape[-1] == probabilities.shape[-1]:
            self.recorder.replace(tally, multiplied, as_attention(multiplied))
            self.recorder.replace(self.recorder.tally, op, as_attention(op))
            self.scores = (probabilities.shape, head_size, shape[0])

    def _observe_result(self, op: ExecutedOp, result: torch.Tensor) -> None:
        assert self.scores is not None
        shape, head_size, products = self.scores
        self.scores = None
        self.recorder.replace(self.recorder.tally, op, as_attention(op))
        batch, heads = (shape[0], shape[1]) if len(shape) == 4 else (1, products)
        self.recorder.add_attention(
            AttentionShape(batch, heads, heads, shape[-2], shape[-1], head_size, result.shape[-1]),
            causal=False,
            masked=self.masked,
            scaled=False,
        )


PRODUCTS = frozenset({"bmm", "baddbmm"})
MASKING = frozenset({"add", "masked_fill", "where"})
ATTENTION_OPERATIONS = PRODUCTS | MASKING | {"_softmax"}
"""The operations of unfused attention."""


def _first(result: Any) -> torch.Tensor:
    return result[0] if isinstance(result, (list, tuple)) else result


def as_attention(op: ExecutedOp) -> ExecutedOp:
    """Mark a matrix product as QKᵀ or AV of unfused attention."""
    variant = _ATTENTION_VARIANTS.get(op)
    if variant is None:
        variant = _ATTENTION_VARIANTS[op] = replace(op, kind=ATTENTION)
    return variant


_ATTENTION_VARIANTS: weakref.WeakKeyDictionary[ExecutedOp, ExecutedOp] = weakref.WeakKeyDictionary()
