"""The stored bytes of a component's weights, by module."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from diffprof.prediction.allocator import MIB
from diffprof.prediction.workspace import element_bytes
from diffprof.record.profile import Component, Module, Profile
from diffprof.record.run_settings import RunSettings
from diffprof.settings.quantizations import QUANTIZATIONS

COMPUTED_IN = ("float32", "bfloat16", "float16")

LEAVE_T5 = ("bitsandbytes:", "torchao:")
"""Libraries that transformers uses to quantize a model; quanto is usually called directly, and quantizes all layers."""

LAYERWISE_CLASSES = ("Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")
LAYERWISE_SKIPPED = re.compile(r"pos_embed|patch_embed|norm|^proj_in$|^proj_out$")
"""Modules that diffusers does not cast: its ``DEFAULT_SKIP_MODULES_PATTERN``."""


class ModuleWeights(NamedTuple):
    """The weights of one module, without its children; there are thousands, and tuples are made quickest."""

    path: str
    class_name: str
    stored_bytes: int
    unpacked_bytes: int
    """Bytes of the unpacked copy while the module runs; 0 if there is none."""
    output_copies: float = 0
    """The workspace of its product while it runs, in sizes of its output."""


@dataclass(frozen=True, eq=False)
class ComponentWeights:
    """All weights of one component; profiles with the same component share one object."""

    slot: str
    modules: tuple[ModuleWeights, ...]

    @cached_property
    def total_bytes(self) -> int:
        return sum(module.stored_bytes for module in self.modules)

    @cached_property
    def tensor_bytes(self) -> tuple[int, ...]:
        """Bytes of each tensor, as far as they are known."""
        return tuple(size for module in self.modules for size in tensor_sizes(module.stored_bytes))

    @cached_property
    def pinned_bytes(self) -> int:
        """The pinned memory that holds them; PyTorch rounds that of each tensor up to a power of two."""
        return sum(1 << (size - 1).bit_length() for size in self.tensor_bytes if size)

    @cached_property
    def largest_unpacked_bytes(self) -> int:
        """The most that is unpacked at once."""
        return max((module.unpacked_bytes for module in self.modules), default=0)


MOST_REMEMBERED = 64
_remembered: dict[tuple[Any, ...], tuple[Sequence[Module], ComponentWeights]] = {}
"""A cache of weights by the `id` of the modules, which are kept alive; profiles of one law share them."""


def component_weights(component: Component, settings: RunSettings) -> ComponentWeights:
    """The weights of a component as stored with these settings."""
    if component.slot in settings.without:
        return ComponentWeights(component.slot, ())
    key = (
        id(component.modules), component.slot, component.class_name, component.dtype, component.parameters,
        component.buffers, component.weight_bytes, tuple(component.weight_bytes_by_dtype.items()),
        settings.quantize.get(component.slot), component.slot in settings.layerwise,
    )  # fmt: skip
    found = _remembered.get(key)
    if found is None:
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.clear()
        found = _remembered[key] = (component.modules, _component_weights(component, settings))
    return found[1]


def _component_weights(component: Component, settings: RunSettings) -> ComponentWeights:
    elements = component.parameters + component.buffers
    total = component.weight_bytes - _saved_by_cast(component)
    each = total / elements if elements else 0.0
    modules = [
        ModuleWeights(module.path, module.class_name, round(module.parameters * each), 0)
        for module in component.modules
        if module.parameters
    ]
    # Buffers are not recorded by module; a component without modules is one block.
    rest = total - round(each * sum(module.parameters for module in component.modules))
    scheme = settings.quantize.get(component.slot)
    computed = element_bytes(compute_dtype(component))
    numbers = [module.parameters for module in component.modules if module.parameters]
    if scheme is not None:
        leaves_t5 = scheme.startswith(LEAVE_T5) and "T5" in component.class_name
        modules = [
            _quantized(module, number, scheme, computed, leaves_t5) if module.class_name == "Linear" else module
            for module, number in zip(modules, numbers, strict=True)
        ]
    elif component.slot in settings.layerwise:
        modules = [
            _cast(module, number, computed) if _is_cast(module) else module
            for module, number in zip(modules, numbers, strict=True)
        ]
    if rest > 0:
        modules.append(ModuleWeights("", component.class_name, rest, 0))
    return ComponentWeights(component.slot, tuple(modules))


def _quantized(module: ModuleWeights, parameters: int, scheme: str, computed: int, leaves_t5: bool) -> ModuleWeights:
    """The weights of a linear layer in a packed form, whose elements are computed with in so many bytes."""
    path, class_name, stored, *_ = module
    # Transformers packs none of these layers of T5; bitsandbytes has them in float32.
    if leaves_t5 and path.endswith(".wo"):
        return ModuleWeights(path, class_name, 4 * parameters if is_quantized_on_device(scheme) else stored, 0)
    packed = QUANTIZATIONS[scheme]
    stored = min(stored, round(parameters * packed.bits / 8))
    unpacked = computed * parameters if packed.is_unpacked else 0
    return ModuleWeights(path, class_name, stored, unpacked, packed.output_copies)


def _saved_by_cast(component: Component) -> int:
    """The bytes by which buffers are smaller than they were created: diffusers loads them in the dtype of the weights.

    Positions, say, are computed in float32 or float64.
    """
    own = element_bytes(compute_dtype(component))
    for dtype, size in component.weight_bytes_by_dtype.items():
        if dtype in COMPUTED_IN or dtype == "float64":
            wide = element_bytes(dtype)
            if wide > own and size == component.buffers * wide:
                return component.buffers * (wide - own)
    return 0


def _cast(module: ModuleWeights, parameters: int, computed: int) -> ModuleWeights:
    """The weights of a layer that are stored in a byte each, and cast while it runs."""
    path, class_name, stored, *_ = module
    return ModuleWeights(path, class_name, min(stored, parameters), computed * parameters)


def _is_cast(module: ModuleWeights) -> bool:
    return module.class_name in LAYERWISE_CLASSES and not LAYERWISE_SKIPPED.search(module.path)


def without_buffers(component: Component, weights: ComponentWeights) -> tuple[ComponentWeights, int]:
    """The weights without buffers, and the bytes of these: sequential offload leaves buffers on the device.

    It moves those of models with parameters outside of any layer, as `offload_buffers` of diffusers says.
    """
    has_own = any(module.parameters and not module.path for module in component.modules)
    if has_own or not component.buffers or not component.modules:
        return weights, 0
    *modules, buffers = weights.modules
    return ComponentWeights(weights.slot, tuple(modules)), buffers.stored_bytes


def is_quantized_on_device(scheme: str | None) -> bool:
    """Whether weights are quantized on the device, as bitsandbytes does."""
    return scheme is not None and scheme.startswith("bitsandbytes:")


def least_weight_bytes(profile: Profile, settings: RunSettings) -> int:
    """The minimum weight bytes on the device: all, or with model offload those of the largest component."""
    if settings.offload not in ("none", "model"):
        return 0
    sizes = [component_weights(part, settings).total_bytes for part in profile.components.values() if part.calls]
    return sum(sizes) if settings.offload == "none" else max(sizes, default=0)


def compute_dtype(component: Component) -> str:
    """The dtype of most of its weights, among those in which products are computed."""
    sizes = {dtype: size for dtype, size in component.weight_bytes_by_dtype.items() if dtype in COMPUTED_IN}
    return max(sizes, key=lambda dtype: sizes[dtype], default=component.dtype)


def tensor_sizes(size: int) -> tuple[int, ...]:
    """Split the weights of a module into likely tensors: a matrix of whole MiB, and a small bias."""
    rest = size % MIB
    return (size - rest, rest) if size > MIB and rest else (size,)
