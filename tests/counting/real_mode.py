"""A dispatch mode that executes operations on real tensors, and records them."""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from diffprof.counting.formulas.kinds import ATTENTION
from diffprof.counting.formulas.products import attention_shape
from diffprof.counting.operations.recorder import OperationRecorder, executed_op
from diffprof.counting.operations.tensors import tensors_in
from diffprof.counting.operations.unfused_attention import ATTENTION_OPERATIONS
from diffprof.counting.operations.virtual import is_composite, run_decomposed


class RealMode(TorchDispatchMode):
    """Lets every operation run and counts it by the same formulas as a dry run."""

    def __init__(self, recorder: OperationRecorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if is_composite(func):  # arrives whole in `torch.inference_mode`
            with self:
                return run_decomposed(func, args, kwargs)
        result = func(*args, **kwargs)
        op = executed_op(func, tensors_in((*args, *kwargs.values())), args, result)
        self.recorder.add(op)
        if op.name in ATTENTION_OPERATIONS:
            self.recorder.watch(op, args, result)
        elif op.kind == ATTENTION:
            self._attended(func, args, kwargs)
        return result

    def _attended(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = dict(zip((argument.name for argument in func._schema.arguments), args, strict=False)) | kwargs
        masked = any(given.get(name) is not None for name in ("attn_mask", "attn_bias"))
        self.recorder.add_attention(attention_shape(*args[:3]), bool(given.get("is_causal")), masked)
