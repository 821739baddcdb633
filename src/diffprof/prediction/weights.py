"""What the weights of a component take, module by module, in the form in which they are kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from diffprof.errors import RequestError
from diffprof.prediction.allocator import MIB
from diffprof.prediction.workspace import element_bytes
from diffprof.record.fitted import FitSettings
from diffprof.record.profile import Component, Module, Profile


@dataclass(frozen=True)
class PackedWeights:
    """A way to keep the weights of linear layers in fewer bits."""

    bits: float
    """Of one weight, with its share of the scales."""
    is_unpacked: bool
    """Whether a copy in the dtype of the computation is made for each product."""


SCHEMES = {
    # bitsandbytes: blocks of 64 with a scale of 32 bits; the docs' configurations do not quantize the scales again.
    "nf4": PackedWeights(4.5, True),
    "fp4": PackedWeights(4.5, True),
    # torchao: groups of 128 with a scale and a zero point of 16 bits; its kernel reads them as they are.
    "int4": PackedWeights(4.25, False),
    "int8": PackedWeights(8, True),
    "fp8": PackedWeights(8, True),
    "llm-int8": PackedWeights(8, False),
    "int8-dynamic": PackedWeights(8, False),
    "fp8-dynamic": PackedWeights(8, False),
    "gguf-q2_k": PackedWeights(2.625, True),
    "gguf-q3_k": PackedWeights(3.4375, True),
    "gguf-q4_0": PackedWeights(4.5, True),
    "gguf-q4_1": PackedWeights(5.0, True),
    "gguf-q4_k": PackedWeights(4.5, True),
    "gguf-q5_k": PackedWeights(5.5, True),
    "gguf-q6_k": PackedWeights(6.5625, True),
    "gguf-q8_0": PackedWeights(8.5, True),
}
"""By name, as `diffprof predict` has them."""

COMPUTED_IN = ("float32", "bfloat16", "float16")

OF_BITSANDBYTES = ("nf4", "fp4", "llm-int8")
"""Schemes of bitsandbytes: with them, transformers leaves the layers ``wo`` of T5 as they are, in float32."""

LAYERWISE_CLASSES = ("Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")
LAYERWISE_SKIPPED = re.compile(r"pos_embed|patch_embed|norm|^proj_in$|^proj_out$")
"""Modules that diffusers does not cast: its ``DEFAULT_SKIP_MODULES_PATTERN``."""


@dataclass(frozen=True)
class ModuleWeights:
    """The weights that one module holds itself."""

    path: str
    class_name: str
    stored_bytes: int
    unpacked_bytes: int
    """Of the copy that is made while the module runs; 0 where none is."""


@dataclass(frozen=True)
class ComponentWeights:
    """All weights of one component."""

    slot: str
    modules: tuple[ModuleWeights, ...]

    @cached_property
    def total_bytes(self) -> int:
        return sum(module.stored_bytes for module in self.modules)


def component_weights(component: Component, settings: FitSettings) -> ComponentWeights:
    """The weights of a component as the settings keep them."""
    elements = component.parameters + component.buffers
    each = component.weight_bytes / elements if elements else 0.0
    modules = [_module_weights(module, component, each, settings) for module in component.modules if module.parameters]
    # Buffers are not known by module; without its modules a component is one block.
    rest = component.weight_bytes - round(each * sum(module.parameters for module in component.modules))
    if rest > 0:
        modules.append(ModuleWeights("", component.class_name, rest, 0))
    return ComponentWeights(component.slot, tuple(modules))


def _module_weights(module: Module, component: Component, each: float, settings: FitSettings) -> ModuleWeights:
    stored = round(module.parameters * each)
    computed = module.parameters * element_bytes(compute_dtype(component))
    scheme = settings.quantize.get(component.slot)
    if scheme is not None and module.class_name == "Linear":
        packed = SCHEMES[scheme]
        if scheme in OF_BITSANDBYTES and "T5" in component.class_name and module.path.endswith(".wo"):
            return ModuleWeights(module.path, module.class_name, 4 * module.parameters, 0)
        stored = min(stored, round(module.parameters * packed.bits / 8))
        return ModuleWeights(module.path, module.class_name, stored, computed if packed.is_unpacked else 0)
    is_cast = module.class_name in LAYERWISE_CLASSES and not LAYERWISE_SKIPPED.search(module.path)
    if component.slot in settings.layerwise and is_cast:
        return ModuleWeights(module.path, module.class_name, min(stored, module.parameters), computed)
    return ModuleWeights(module.path, module.class_name, stored, 0)


def least_weight_bytes(profile: Profile, settings: FitSettings) -> int:
    """What lies on the device at once at least: all weights, or with model offload those of the largest component."""
    if settings.offload not in ("none", "model"):
        return 0
    sizes = [component_weights(part, settings).total_bytes for part in profile.components.values() if part.calls]
    return sum(sizes) if settings.offload == "none" else max(sizes, default=0)


def compute_dtype(component: Component) -> str:
    """The dtype that most of its weights have, of those that products are computed in."""
    sizes = {dtype: size for dtype, size in component.weight_bytes_by_dtype.items() if dtype in COMPUTED_IN}
    return max(sizes, key=lambda dtype: sizes[dtype], default=component.dtype)


def tensor_sizes(size: int) -> tuple[int, ...]:
    """The weights of a module as the tensors that they are likely to be: a matrix of whole MiB, and a small bias."""
    rest = size % MIB
    return (size - rest, rest) if size > MIB and rest else (size,)


def check_settings(settings: FitSettings, components: dict[str, Component]) -> None:
    """Refuse what cannot be meant."""
    if settings.offload not in OFFLOADS:
        raise RequestError(f"There is no way to offload called {settings.offload!r}; use one of {', '.join(OFFLOADS)}.")
    known = [slot for slot, component in components.items() if component.weight_bytes]
    for slot in (*settings.quantize, *settings.layerwise):
        if slot not in known:
            raise RequestError(f"The pipeline has no component {slot!r} with weights; it has {', '.join(known)}.")
    for slot, scheme in settings.quantize.items():
        if scheme not in SCHEMES:
            raise RequestError(f"Cannot quantize {slot} to {scheme!r}; use one of {', '.join(SCHEMES)}.")
        if slot in settings.layerwise:
            raise RequestError(f"{slot} is either quantized or cast layer by layer, not both; leave one out.")
    if settings.devices < 1 or settings.blocks_per_group < 1:
        raise RequestError("A number of devices, or of blocks in a group, is 1 or more.")


OFFLOADS = ("none", "model", "sequential", "group", "group-leaf")
