"""Component calls that a dry run has counted, and may replay."""

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
    """A component call that was counted: what it cost, what it gave back, and what that depends on."""

    cost: Cost
    executed: ExecutedCall
    output: Any
    inputs_read: frozenset[int]
    values: bytes
    assumptions: tuple[str, ...]


class CountedCalls:
    """Component calls that were counted in one or several dry runs of one pipeline."""

    def __init__(self) -> None:
        self.known: dict[Any, list[CountedCall]] = {}
        self._used: set[Any] = set()
        self.state: PipelineState | None = None
        """The pipeline as it is before and after every run."""
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
        """Forget the calls that were neither made nor replayed since the last time."""
        self.known = {key: calls for key, calls in self.known.items() if key in self._used}
        self._used = set()
        self._is_renewed = False

    def state_of(self, pipeline: Any, arguments: dict[str, Any]) -> PipelineState:
        """The state of the pipeline before a run; of what is its own, nothing has changed since the last one."""
        if self.state is None or not (self._is_renewed or self.state.renew(arguments)):
            modules = [module for part in components_of(pipeline).values() for module in part.modules()]
            self.state = PipelineState(pipeline, modules, arguments)
        self._is_renewed = True
        return self.state

    def forget_changes(self) -> None:
        """The pipeline was put back."""
        if self.layout is not None:
            self.layout.equal_modules.forget_if_changed()

    def layout_of(self, pipeline: Any) -> PipelineLayout:
        """Where the modules of the pipeline are, now that it is prepared for its run as for each of them."""
        self.layout = self.layout or PipelineLayout(pipeline)
        return self.layout


def digest_values(inputs: list[Any], numbers: frozenset[int]) -> bytes:
    """A digest of the values of real inputs that the component's code has read."""
    digest = hashlib.blake2b(digest_size=16)
    with torch._C._DisableTorchDispatch():
        for number in sorted(numbers):
            tensor = inputs[number]
            if not tensor.is_meta:
                values = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
                digest.update(values.numpy().tobytes())
    return digest.digest()


def shares_storage(inputs: list[Any], outputs: list[Any]) -> bool:
    """Whether a call hands back what it was given, which lives only as long as the run."""
    given, made = (_storages(values) for values in (inputs, outputs))
    return not given.isdisjoint(made)


def _storages(values: list[Any]) -> set[int]:
    return {value.untyped_storage()._cdata for value in values if isinstance(value, torch.Tensor)}
