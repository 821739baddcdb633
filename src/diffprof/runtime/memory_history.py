"""Record where GPU memory is allocated, and write a snapshot on request or when memory runs out.

torch records lines of code. diffprof adds the owners: allocations are labelled with the module that is being called,
and the snapshot contains the addresses of the weights.
"""

from __future__ import annotations

import contextlib
import pickle
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from diffprof.errors import DiffprofError, OutOfMemoryError, RequestError
from diffprof.pipelines.components import components_of, is_compiled, named_modules_of
from diffprof.record.atomic_files import replace_file
from diffprof.runtime.instrumentation.interception import intercept
from diffprof.runtime.instrumentation.pipeline_devices import execution_device, further_devices
from diffprof.runtime.timing.trace_files import rank_ending

NAME, ENDING = "memory_snapshot", ".pickle"
MAX_EVENTS = 200_000
"""How many of the latest allocations and releases are kept, at a few hundred bytes each."""
WEIGHTS = "diffprof_weights"
"""The key under which diffprof adds the path of each weight, such as ``unet.conv_in.weight``, by address."""


class _History:
    """The pipeline of the current recording, without keeping its weights alive."""

    def __init__(self) -> None:
        self.is_recorded = False
        self.components = weakref.WeakValueDictionary[str, torch.nn.Module]()
        self.weights: dict[int, str] = {}


_HISTORY = _History()
"""One for the process, because there is one allocator."""


def snapshot_file(folder: Path) -> Path:
    """The file of this process's snapshot; under torchrun each process has its own."""
    return folder / f"{NAME}{rank_ending()}{ENDING}"


@contextlib.contextmanager
def memory_snapshot(folder: Path, requested: bool) -> Iterator[None]:
    """Write a snapshot to the folder at the end, with the history of allocations inside the block.

    If none is requested, one is written only if memory runs out, and without a history.
    """
    memory: Any = torch.cuda.memory
    if requested and not torch.cuda.is_available():
        raise RequestError("--memory-snapshot needs a CUDA or ROCm device: it shows torch.cuda's allocator.")
    if requested:
        # Without C++ frames, which are not shown, take minutes to resolve, and are not supported on every processor.
        memory._record_memory_history(max_entries=MAX_EVENTS, stacks="python")
    _HISTORY.is_recorded = requested
    try:
        yield
    except OutOfMemoryError as error:
        error.snapshot = snapshot_of_failure(folder)
        raise
    else:
        if requested:
            write_snapshot(folder)
    finally:
        _HISTORY.is_recorded, _HISTORY.weights = False, {}
        if requested:
            memory._record_memory_history(enabled=None)


@contextlib.contextmanager
def label_allocations(pipeline: Any) -> Iterator[None]:
    """Label each recorded allocation with the path of the module that is being called.

    Does nothing if something is compiled, because torch would compile it again.
    """
    components = components_of(pipeline)
    _HISTORY.components = weakref.WeakValueDictionary(components)
    _HISTORY.weights |= weight_addresses(components)
    set_label = getattr(torch.cuda.memory, "_set_memory_metadata", None)  # not in every torch
    if not _HISTORY.is_recorded or set_label is None or any(map(is_compiled, components.values())):
        yield
        return
    labels = _ModuleLabels(components, _device_indices(pipeline), set_label)
    with contextlib.ExitStack() as undo:
        classes = dict.fromkeys(type(module) for part in components.values() for module in part.modules())
        for owner in classes:
            undo.callback(intercept(owner, "__call__", labels.call))
        yield


class _ModuleLabels:
    """Labels allocations during the call of a module, and restores the caller's label afterwards."""

    def __init__(
        self, components: dict[str, torch.nn.Module], devices: Sequence[int], set_label: Callable[[str], None]
    ) -> None:
        self._paths = {
            id(module): f"{slot}.{path}" if path else slot
            for slot, part in reversed(components.items())
            for path, module in named_modules_of(part)
        }
        self._devices = devices
        self._set_label = set_label
        self._current = ""

    def call(self, original: Callable[..., Any], module: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        path, outer = self._paths.get(id(module)), self._current
        if path is None:
            return original(module, *args, **kwargs)
        self._set(path)
        try:
            return original(module, *args, **kwargs)
        finally:
            self._set(outer)

    def _set(self, label: str) -> None:
        self._current = label
        for index in self._devices:  # labels apply to the current device, which may not be one of the pipeline's
            with torch.cuda.device(index):
                self._set_label(label)


def _device_indices(pipeline: Any) -> list[int]:
    """The CUDA devices that the pipeline runs on."""
    main = execution_device(pipeline)
    places = {main, *further_devices(pipeline, main).values()}
    current = torch.cuda.current_device()
    return sorted({current if place.index is None else place.index for place in places if place.type == "cuda"})


def snapshot_of_failure(folder: Path, pipeline: Any = None) -> Path | None:
    """Write a snapshot after an out-of-memory error, while its tensors are still alive; None if that fails."""
    if not torch.cuda.is_initialized():
        return None
    with contextlib.suppress(DiffprofError, RuntimeError, OSError):  # must not hide the original error
        return write_snapshot(folder, pipeline)
    return None


def write_snapshot(folder: Path, pipeline: Any = None) -> Path:
    """Write the state and the history of the allocator, and the addresses of weights."""
    components = components_of(pipeline) if pipeline is not None else dict(_HISTORY.components)
    weights = {**_HISTORY.weights, **weight_addresses(components)}
    path = snapshot_file(folder)
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(path, pickle.dumps({**torch.cuda.memory._snapshot(), WEIGHTS: weights}))
    return path


def weight_addresses(components: Mapping[str, torch.nn.Module]) -> dict[int, str]:
    """The path of the first weight in each storage on an accelerator, by address."""
    found: dict[int, str] = {}
    for slot, part in components.items():
        for path, module in named_modules_of(part):
            for name, weight in (*module._parameters.items(), *module._buffers.items()):
                for address in _addresses(weight):
                    found.setdefault(address, ".".join(filter(None, (slot, path, name))))
    return found


def _addresses(weight: torch.Tensor | None) -> Iterator[int]:
    """The addresses of the tensors with the data; a quantized weight can be a wrapper around several."""
    if weight is None or weight.device.type in ("cpu", "meta"):
        return
    flatten = getattr(weight, "__tensor_flatten__", None)
    if flatten is None:
        yield weight.untyped_storage().data_ptr()
        return
    for name in flatten()[0]:
        yield from _addresses(getattr(weight, name))
