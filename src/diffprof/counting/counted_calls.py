"""Component calls that were counted in a dry run and may be replayed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import torch

from diffprof.counting.pipeline_layout import PipelineLayout
from diffprof.counting.pipeline_state import PipelineState
from diffprof.pipelines.components import components_of
from diffprof.record.executed_calls import ExecutedCall
from diffprof.record.profile import Cost


@dataclass
class CountedCall:
    """A counted component call: its cost, its output, and the inputs that these depend on."""

    cost: Cost
    executed: ExecutedCall
    output: Any
    inputs_read: frozenset[int]
    values: bytes
    assumptions: tuple[str, ...]


class CountedCalls:
    """Component calls that were counted in one or more dry runs of a pipeline."""

    def __init__(self) -> None:
        self.known: dict[Any, list[CountedCall]] = {}
        self._used: set[Any] = set()
        self.state: PipelineState | None = None
        """The state of the pipeline before and after each run."""
        self.layout: PipelineLayout | None = None
        """The layout of the pipeline during a run."""
        self._is_renewed = False

    def add(self, key: Any, call: CountedCall) -> None:
        self.known.setdefault(key, []).append(call)
        self._used.add(key)

    def recall(self, key: Any, inputs: list[Any]) -> CountedCall | None:
        for known in self.known.get(key, ()):
            if known.values == digest_values(inputs, known.inputs_read):
                self._used.add(key)
                return known
        return None

    def forget_unused(self) -> None:
        """Forget calls that were neither counted nor replayed since the last time."""
        self.known = {key: calls for key, calls in self.known.items() if key in self._used}
        self._used = set()
        self._is_renewed = False

    def state_of(self, pipeline: Any, arguments: dict[str, Any]) -> PipelineState:
        """Return the state of the pipeline before a run; its own objects have not changed since the last run."""
        if self.state is None or not (self._is_renewed or self.state.renew(arguments)):
            modules = [module for part in components_of(pipeline).values() for module in part.modules()]
            self.state = PipelineState(pipeline, modules, arguments)
        self._is_renewed = True
        return self.state

    def forget_changes(self) -> None:
        """Forget the changes of a run, after the pipeline was restored."""
        if self.layout is not None:
            self.layout.equal_modules.forget_if_changed()

    def layout_of(self, pipeline: Any) -> PipelineLayout:
        """Return where the modules of the pipeline are; it is prepared in the same way for every run."""
        self.layout = self.layout or PipelineLayout(pipeline)
        return self.layout


def digest_values(inputs: list[Any], numbers: frozenset[int]) -> bytes:
    """Return a digest of the values of real inputs that the component's code has read."""
    digest = hashlib.blake2b(digest_size=16)
    with torch._C._DisableTorchDispatch():
        for number in sorted(numbers):
            tensor = inputs[number]
            if not tensor.is_meta:
                values = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
                digest.update(values.numpy().tobytes())
    return digest.digest()


def shares_storage(inputs: list[Any], outputs: list[Any]) -> bool:
    """Whether an output of a call shares memory with an input, which lives only as long as the run."""
    given, made = (_storages(values) for values in (inputs, outputs))
    return not given.isdisjoint(made)


def _storages(values: list[Any]) -> set[int]:
    return {value.untyped_storage()._cdata for value in values if isinstance(value, torch.Tensor)}
