"""The environment of a pipeline during a dry run: devices, offloading, progress bars, autocast."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext

from diffprof.counting.attention_backends import catch_attention_backends
from diffprof.counting.collectives import catch_collectives
from diffprof.counting.image_transforms import supply_transforms
from diffprof.counting.known_layers import known_layer
from diffprof.counting.operations.autocast import Autocast, active_autocast
from diffprof.counting.operations.functions import is_accelerator
from diffprof.counting.operations.packed_linear import packed_linear
from diffprof.counting.operations.virtual import VirtualMode
from diffprof.counting.pipeline_layout import PipelineLayout, is_virtual
from diffprof.counting.pipeline_state import accelerator_kinds
from diffprof.counting.sharded_linear import sharded_linear
from diffprof.counting.sharded_weights import gather_sharded_weights
from diffprof.counting.sorted_sets import sort_sets
from diffprof.counting.video_frames import convert_by_frame
from diffprof.pipelines.components import components_of
from diffprof.pipelines.packing.packed_weights import is_sharded, packed_weight
from diffprof.pipelines.patching import Patches


def prepare(patches: Patches, mode: VirtualMode, pipeline: Any, layout: PipelineLayout) -> None:
    """Apply all changes that a dry run needs; `Patches` undoes them."""
    from diffusers import DiffusionPipeline
    from diffusers.modular_pipelines.modular_pipeline import LoopSequentialPipelineBlocks, ModularPipeline

    run_uncompiled(patches)
    run_uncaptured(patches, layout.captured)
    gather_sharded_weights(pipeline, mode.recorder)
    catch_attention_backends(patches, mode)
    catch_collectives(patches, mode.recorder)
    for drawer in (DiffusionPipeline, LoopSequentialPipelineBlocks):
        patches.function(drawer, "progress_bar", lambda original: _silent_progress_bar)
    _silence_other_bars(patches)
    supply_transforms(patches)
    convert_by_frame(patches)
    sort_sets(patches, layout.components.values())
    patches.function(torch.amp.autocast_mode.autocast, "__init__", _autocast_without_meta)
    for name in ("is_autocast_enabled", "get_autocast_dtype"):
        patches.function(torch, name, _autocast_query_without_meta)
    _disable_offloading(patches)
    if layout.is_virtual:
        for owner in type(pipeline).__mro__:
            for name in (
                ("device", "_execution_device") if issubclass(owner, DiffusionPipeline | ModularPipeline) else ()
            ):
                if name in vars(owner):
                    patches.property(owner, name, torch.device("cpu"))


def surrounding_autocast(pipeline: Any) -> Autocast | None:
    """Return the autocast in which a live pipeline would be called; a model opened by name has its own dtype."""
    if not any(map(torch.is_autocast_enabled, _autocast_devices())) or is_virtual(components_of(pipeline)):
        return None
    return active_autocast(getattr(getattr(pipeline, "_execution_device", None), "type", "cpu"))


@contextlib.contextmanager
def without_autocast() -> Iterator[None]:
    """Disable torch's own casts, which would apply to weights with data but not to virtual ones."""
    with contextlib.ExitStack() as stack:
        for device in filter(torch.is_autocast_enabled, _autocast_devices()):
            stack.enter_context(torch.autocast(device, enabled=False))
        yield


@contextlib.contextmanager
def host_as_default_device() -> Iterator[None]:
    """Create tensors on the host unless a device is given, even after `torch.set_default_device("cuda")`."""
    # Not `torch.get_default_device`, which creates a tensor to find out.
    defaults = [mode.device for mode in _get_current_function_mode_stack() if isinstance(mode, DeviceContext)]
    with torch.device("cpu") if any(map(is_accelerator, defaults)) else contextlib.nullcontext():
        yield


def _autocast_devices() -> list[str]:
    kinds = dict.fromkeys((*AUTOCAST_DEVICES, *accelerator_kinds()))
    return [kind for kind in kinds if torch.amp.is_autocast_available(kind)]


AUTOCAST_DEVICES = ("cpu", "cuda", "xpu", "mps")
"""Device types that have their own autocast, whether or not this machine has such a device."""


def run_uncompiled(patches: Patches) -> None:
    """Run the Python code of everything that was passed to `torch.compile`, and compile nothing.

    Compiled kernels cannot run on shapes alone, and code that is compiled under the patches of a dry run is lost with
    them. `torch.compiler.set_stance` does the same, but for all threads.
    """
    # Not imported here: if nobody has imported it, nothing was compiled, and importing it takes seconds.
    dynamo = sys.modules.get("torch._dynamo.eval_frame")
    if dynamo is not None:
        patches.function(dynamo, "_callback_from_stance", lambda original: lambda callback: None)


def run_uncaptured(patches: Patches, captured: Iterable[tuple[torch.nn.Module, str]]) -> None:
    """Run the Python code of methods that were captured as CUDA graphs or compiled ahead of time.

    A captured graph ignores its arguments, and a compiled library needs memory.
    """
    for module, name in captured:
        patches.set(module, name, types.MethodType(getattr(type(module), name), module))


def is_on_accelerator(pipeline: Any) -> bool:
    """Whether the pipeline computes on an accelerator."""
    return is_accelerator(getattr(pipeline, "_execution_device", None))


def call_module(
    mode: VirtualMode, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: Any
) -> Any:
    """Call a module; a layer whose kernels need data is counted from its shapes."""
    compute = known_layer(type(module))
    if compute is not None:
        return compute(mode.recorder, module, args, kwargs)
    if not isinstance(module, torch.nn.Linear):
        return original(module, *args, **kwargs)
    weight = module._parameters.get("weight")
    if is_sharded(weight):
        return sharded_linear(mode.recorder, module, args[0])
    if weight is not None and _is_packed_layer(module.__class__):
        packed = packed_weight(weight)
        if packed is None:  # not packed yet: bitsandbytes packs when moving to a GPU, quanto when it is frozen
            return F.linear(args[0], weight, module.bias)
        return packed_linear(mode, args[0], packed, module.bias, getattr(module, "compute_dtype", None))
    return original(module, *args, **kwargs)


def _is_packed_layer(owner: type) -> bool:
    """Whether it is a layer of a library that packs weights, by its module: adapters use the same class names."""
    return any(base.__module__.startswith(PACKING_LIBRARIES) for base in owner.__mro__)


PACKING_LIBRARIES = ("bitsandbytes.", "optimum.quanto.", "diffusers.quantizers.gguf.")
"""Libraries whose layers call their own kernels; torchao uses torch's layers with another class of weights."""


class _SilentProgressBar:
    """A replacement for tqdm."""

    def __init__(self, iterable: Iterable[Any] = ()) -> None:
        self._iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        return iter(self._iterable)

    def __enter__(self) -> _SilentProgressBar:
        return self

    def __exit__(self, *exception: object) -> None:
        return None

    def update(self, n: int = 1) -> None:
        return None

    def set_description(self, text: str) -> None:
        return None

    def close(self) -> None:
        return None


def _silent_progress_bar(pipeline: Any, iterable: Any = None, total: Any = None) -> _SilentProgressBar:
    return _SilentProgressBar(() if iterable is None else iterable)


def _silence_other_bars(patches: Patches) -> None:
    """Silence tqdm, which some pipelines use directly; bars of other threads stay."""
    bar = sys.modules["tqdm.std"].tqdm  # diffusers has imported it
    original, thread = vars(bar)["__init__"], threading.get_ident()

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        silent = {"disable": True} if threading.get_ident() == thread else {}
        original.__get__(self)(*args, **kwargs | silent)  # not a plain function

    patches.set(bar, "__init__", init)


def _autocast_without_meta(original: Callable[..., None]) -> Callable[..., None]:
    """Replace the meta device, which `torch.autocast(x.device.type)` does not know, by the CPU."""

    @functools.wraps(original)
    def init(self: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
        original(self, "cpu" if device_type == "meta" else device_type, *args, **kwargs)

    return init


def _autocast_query_without_meta(original: Callable[..., Any]) -> Callable[..., Any]:
    """Do the same for code that queries autocast, such as transformers' flash attention."""
    return lambda *kinds: original(*("cpu" if kind == "meta" else kind for kind in kinds))


def _disable_offloading(patches: Patches) -> None:
    """Disable hooks that move weights between devices, because there is nothing to move."""
    from accelerate import hooks as accelerate_hooks

    def pass_inputs(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda hook, module, *args, **kwargs: (args, kwargs)

    def pass_output(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda hook, module, output: output

    for hook in (accelerate_hooks.AlignDevicesHook, accelerate_hooks.CpuOffload):
        patches.function(hook, "pre_forward", pass_inputs)
        if "post_forward" in vars(hook):
            patches.function(hook, "post_forward", pass_output)
    patches.function(accelerate_hooks.UserCpuOffloadHook, "offload", lambda original: lambda hook: None)
    with contextlib.suppress(ImportError):
        from diffusers.hooks import group_offloading

        for name in ("onload_", "offload_"):
            patches.function(group_offloading.ModuleGroup, name, lambda original: lambda group: None)
