"""Run a pipeline and count with torch's own formulas, independently of diffprof."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from diffprof.pipelines.components import trunks_of


@dataclass
class RealRun:
    """The MACs of a real run, in the order of execution."""

    calls: list[tuple[str, str, int]] = field(default_factory=list)
    """Slot, method and MACs of each component call that had any."""
    outside: int = 0
    """MACs of the pipeline's own code, outside of every component."""
    output: Any = None
    """What the pipeline returned."""


def real_run(pipeline: Any, components: dict[str, torch.nn.Module], methods: set[str], arguments: Any) -> RealRun:
    """Call the pipeline; operations during a method of a component belong to that call."""
    run = RealRun()
    counter = _Counter()
    # Fused attention kernels have no formula there; the plain one is two matrix products.
    with _calls_noted(components, methods, counter, run), sdpa_kernel(SDPBackend.MATH), counter:
        run.output = pipeline(**arguments)
    run.outside = counter.macs - sum(macs for _, _, macs in run.calls)
    return run


def unwatched_run(pipeline: Any, arguments: Any) -> Any:
    """What the pipeline returns where nobody watches, with the same kernels."""
    with sdpa_kernel(SDPBackend.MATH):
        return pipeline(**arguments)


class _Counter(TorchDispatchMode):
    """torch's FlopCounterMode without its table of modules, which takes most of its time."""

    macs = 0
    inside = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        formula = flop_registry.get(func._overloadpacket)
        if formula is not None:
            self.macs += formula(*args, **kwargs, out_val=result) // 2
        elif func.name() == "quanto::qbytes_mm":  # rows [m, k] times packed weights [n, k]; torch has no formula for it
            self.macs += args[0].numel() * args[1].shape[0]
        return result


@contextmanager
def _calls_noted(
    components: dict[str, torch.nn.Module], methods: set[str], counter: _Counter, run: RealRun
) -> Iterator[None]:
    """The methods of these very objects are wrapped, not those of their classes."""
    wrapped = []
    inner = [(slot, trunk) for slot, component in components.items() for trunk in trunks_of(slot, component)]
    for slot, component in (*components.items(), *inner):
        for method in methods if component is components[slot] else ("forward",):
            original = getattr(component, method, None)
            if original is not None and method not in vars(component):
                setattr(component, method, _noting(slot, method, original, counter, run))
                wrapped.append((component, method))
    try:
        yield
    finally:
        for component, method in wrapped:
            delattr(component, method)


def _noting(
    slot: str, method: str, original: Callable[..., Any], counter: _Counter, run: RealRun
) -> Callable[..., Any]:
    @functools.wraps(original)
    def note(*args: Any, **kwargs: Any) -> Any:
        if counter.inside:
            return original(*args, **kwargs)
        counter.inside, before = True, counter.macs
        try:
            return original(*args, **kwargs)
        finally:
            counter.inside = False
            if counter.macs > before:
                run.calls.append((slot, method, counter.macs - before))

    return note
