"""The components of a pipeline: their roles, their sizes, and the methods by which they are called."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from diffprof.pipelines.packing.packed_weights import own_part, packed_weight
from diffprof.record.profile import Module

DENOISING_ROLES = frozenset({"denoiser", "controlnet"})


def components_of(pipeline: Any) -> dict[str, torch.nn.Module]:
    """Return the pipeline's models by slot, in the pipeline's own order."""
    return {slot: part for slot, part in parts_of(pipeline).items() if isinstance(part, torch.nn.Module)}


def parts_of(pipeline: Any) -> dict[str, Any]:
    """Return models, schedulers, tokenizers and processors by slot, including undeclared ones."""
    # Not `hasattr`, which also finds settings of the pipeline, and warns about them.
    declared = [*pipeline.config, *vars(pipeline).get("_component_specs", ())]  # specs of a modular pipeline
    parts = {name: vars(pipeline)[name] for name in declared if name[0] != "_" and name in vars(pipeline)}
    for name, value in list(vars(pipeline).items()):
        if isinstance(value, torch.nn.Module):
            parts.setdefault(name, value)
    return parts


def schedulers_of(pipeline: Any) -> dict[str, Any]:
    """Return the pipeline's schedulers by slot."""
    return {
        slot: part for slot, part in parts_of(pipeline).items() if hasattr(part, "step") and hasattr(part, "config")
    }


class SchedulerSlots:
    """Finds the slot of a scheduler, even of one that a pipeline has copied for a second latent."""

    def __init__(self, schedulers: Mapping[str, Any]) -> None:
        self._by_id = {id(scheduler): slot for slot, scheduler in schedulers.items()}
        self._by_class = {type(scheduler): slot for slot, scheduler in reversed(list(schedulers.items()))}

    @property
    def classes(self) -> tuple[type, ...]:
        """The classes of the schedulers, without duplicates."""
        return tuple(self._by_class)

    def slot_of(self, scheduler: Any) -> str:
        """Return the slot; the class name if the scheduler belongs to none."""
        owner = type(scheduler)
        return self._by_id.get(id(scheduler)) or self._by_class.get(owner, owner.__name__)


def is_pipeline(value: Any) -> bool:
    """Whether it is a diffusers pipeline that can be called."""
    return not isinstance(value, type) and holds_components(value) and callable(value)


def is_modular(pipeline: Any) -> bool:
    """Whether it is a modular pipeline of diffusers, which consists of blocks."""
    return hasattr(pipeline, "register_components") and hasattr(pipeline, "_blocks")


def holds_components(value: Any) -> bool:
    """Whether it is a pipeline, or one that is part of another."""
    return hasattr(value, "register_modules") or is_modular(value)


def pipelines_in(pipeline: Any) -> list[Any]:
    """Return the pipeline and those inside it: combined pipelines have a prior and a decoder."""
    return [pipeline, *(part for part in list(vars(pipeline).values()) if holds_components(part))]


def role_of(slot: str, component: torch.nn.Module) -> str:
    """Return the role of a component, judged by the module of its class and by its slot."""
    component = unwrap_compiled(component)
    place = type(component).__module__
    if "safety" in slot:
        return "safety_checker"
    if ".autoencoders." in place or slot in ("vae", "movq", "vqgan", "vqvae", "audio_vae"):
        return "vae"
    # A UNet with an inner ControlNet is called instead of it and stays the denoiser.
    if "controlnet" in slot or ("controlnet" in place and slot not in ("unet", "transformer")):
        return "controlnet"
    if "adapter" in place.rsplit(".", 1)[-1] or "motion_adapter" in slot:
        return "adapter"
    if place.startswith("transformers."):
        return "image_encoder" if "image" in slot or "vision" in slot else "text_encoder"
    denoisers = (".unets.", ".transformers.")
    if any(part in place for part in denoisers) or slot.removeprefix("prior_") in (
        "unet",
        "transformer",
        "prior",
        "decoder",
    ):
        return "denoiser"
    if "text" in slot:
        return "text_encoder"
    if "image" in slot:
        return "image_encoder"
    return "other"


def unwrap_compiled(component: torch.nn.Module) -> torch.nn.Module:
    """Return the module inside a `torch.compile` wrapper."""
    # TorchScript stores modules elsewhere.
    inner: torch.nn.Module = component.__dict__.get("_modules", {}).get(WRAPPED, component)
    return inner


WRAPPED = "_orig_mod"
"""The name of the compiled module in a `torch.compile` wrapper."""


def named_modules_of(component: torch.nn.Module, wrappers: bool = False) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield the modules of a component by path; compiled modules are unwrapped.

    With `wrappers`, also yield the wrappers, by the path of their module.
    """
    for path, module in unwrap_compiled(component).named_modules():
        if wrappers or unwrap_compiled(module) is module:
            yield (path.replace(f".{WRAPPED}", "") if WRAPPED in path else path), module


def modules_of(component: torch.nn.Module) -> tuple[Module, ...]:
    """Return every module with its own parameters; a shared parameter belongs to the first module that has it."""
    seen: set[int] = set()
    modules = []
    for path, module in named_modules_of(component):
        own = 0
        for parameter in module._parameters.values():
            if parameter is not None and id(parameter) not in seen:
                seen.add(id(parameter))
                own += element_count(parameter)
        modules.append(Module(path, type(module).__name__, own))
    return tuple(modules)


def element_count(parameter: torch.Tensor) -> int:
    """Return the number of elements of a weight; a packed one has more than its storage shows."""
    packed = packed_weight(parameter)
    return packed.elements if packed is not None else parameter.numel()


def persistent_buffers(component: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Yield the buffers that are part of a checkpoint."""
    for module in unwrap_compiled(component).modules():
        for name, buffer in module._buffers.items():
            if buffer is not None and name not in module._non_persistent_buffers_set:
                yield buffer


def weight_bytes(component: torch.nn.Module) -> int:
    """Return the stored bytes of all parameters and persistent buffers; of sharded ones, those of this rank."""
    return sum(weight_bytes_by_dtype(component).values())


def weight_bytes_by_dtype(component: torch.nn.Module) -> dict[str, int]:
    """Return the bytes of parameters and persistent buffers by storage type, the most bytes first."""
    found: Counter[str] = Counter()
    for weight in [*unwrap_compiled(component).parameters(), *persistent_buffers(component)]:
        packed = packed_weight(weight)
        if packed is not None:
            found[packed.kind] += packed.stored_bytes
        else:
            held = own_part(weight)
            found[str(held.dtype).removeprefix("torch.")] += held.numel() * held.element_size()
    return {name: size for name, size in found.most_common() if size}


@dataclass(frozen=True)
class ComponentSize:
    """The size of a component."""

    parameters: int
    buffers: int
    """Elements of the buffers that are part of a checkpoint."""
    bytes_by_dtype: Mapping[str, int]
    modules: tuple[Module, ...]


NO_SIZE = ComponentSize(0, 0, {}, ())
"""The size of a component that is the same object as an earlier one."""


def component_size(component: torch.nn.Module) -> ComponentSize:
    """Compute the size of a component from all of its weights."""
    return ComponentSize(
        parameters=sum(element_count(weight) for weight in component.parameters()),
        buffers=sum(buffer.numel() for buffer in persistent_buffers(component)),
        bytes_by_dtype=weight_bytes_by_dtype(component),
        modules=modules_of(component),
    )


def trunks_of(slot: str, component: torch.nn.Module) -> list[torch.nn.Module]:
    """Return the modules with most weights of a text encoder: some pipelines call one directly and skip the head."""
    if role_of(slot, component) != "text_encoder":
        return []
    root = unwrap_compiled(component)
    sizes = {module: sum(weight.numel() for weight in module.parameters()) for module in _outer_modules(root)}
    half = sum(weight.numel() for weight in root.parameters()) / 2
    return [module for module, size in sizes.items() if size > half]


def _outer_modules(root: torch.nn.Module) -> list[torch.nn.Module]:
    """Return the modules of a model down to the second level; deeper ones are its layers."""
    inner = list(root.children())
    modules = [*inner, *(module for child in inner for module in child.children())]
    return [module for module in modules if not isinstance(module, torch.nn.ModuleList)]


def entry_methods(component: torch.nn.Module) -> Iterator[tuple[type, str]]:
    """Yield methods other than ``forward`` that pipelines call on a component: ``decode``, ``encode``, ``generate``...

    These are defined by the model's own classes, up to the base classes of all models.
    """
    for owner in type(unwrap_compiled(component)).__mro__:
        if owner.__name__ in SHARED_BASES or owner.__module__.startswith("torch."):
            continue
        names = ("generate",) if owner.__name__ == "GenerationMixin" else tuple(vars(owner))
        for name in names:
            if (
                not name.startswith("_")
                and name not in NOT_ENTERED
                and isinstance(vars(owner).get(name), types.FunctionType)
            ):
                yield owner, name


def replaced_methods(component: torch.nn.Module) -> dict[str, Callable[..., Any]]:
    """Return methods that were replaced on this object, as in ``vae.decode = torch.compile(vae.decode)``."""
    component = unwrap_compiled(component)
    return {
        name: value
        for name, value in list(vars(component).items())
        if callable(value) and name[0] != "_" and name not in NOT_ENTERED and hasattr(type(component), name)
    }


def is_compiled(component: torch.nn.Module) -> bool:
    """Whether it, or a part of it, was passed to `torch.compile`."""
    return any(
        module._compiled_call_impl is not None
        or unwrap_compiled(module) is not module
        or any(map(is_compiled_function, list(vars(module).values())))
        for module in component.modules()
    )


def uses_cuda_graphs(component: torch.nn.Module) -> bool:
    """Whether it, or a part of it, was compiled in a mode that captures CUDA graphs, such as ``reduce-overhead``."""
    compiled = [
        value
        for module in component.modules()
        for value in (module, module._compiled_call_impl, *vars(module).values())
        if value is module or is_compiled_function(value)
    ]
    return any(_has_cuda_graphs(value) for value in compiled)


def _has_cuda_graphs(compiled: Any) -> bool:
    read = getattr(compiled, "get_compiler_config", None)
    config = read() if callable(read) else None
    return bool(config and config.get("triton.cudagraphs"))


def is_compiled_function(value: Any) -> bool:
    return isinstance(value, types.FunctionType) and hasattr(value, "_torchdynamo_orig_callable")


SHARED_BASES = frozenset(
    [
        "ModelMixin",
        "ConfigMixin",
        "PreTrainedModel",
        "PushToHubMixin",
        "PeftAdapterMixin",
        "FromOriginalModelMixin",
        "UNet2DConditionLoadersMixin",
        "CacheMixin",
        "AttentionMixin",
        "ModuleUtilsMixin",
        "EmbeddingAccessMixin",
        "object",
        "Generic",
    ]
)
NOT_ENTERED = frozenset({"forward", "get_input_embeddings", "set_input_embeddings", "get_output_embeddings"})
