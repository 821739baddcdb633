"""Find the modules of a pipeline and their paths, once for as long as the pipeline does not change."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from diffprof.counting.equal_modules import EqualModules
from diffprof.counting.foreign_code import has_foreign_attributes, has_foreign_functions
from diffprof.pipelines.components import components_of, named_modules_of, role_of, trunks_of, unwrap_compiled


class PipelineLayout:
    """The components of a pipeline and their modules."""

    def __init__(self, pipeline: Any) -> None:
        self.components = components_of(pipeline)
        self.roles = {slot: role_of(slot, component) for slot, component in self.components.items()}
        self.real_weights = real_weight_ids(self.components.values())
        """`id`s of weights with data; a dry run uses only their shapes."""
        self.is_virtual = is_virtual(self.components)
        self.slots: dict[int, str] = {}
        """The slot of each module that a pipeline may call, by `id`."""
        self.paths: dict[int, str] = {}
        """The path of each module within its component, by `id`."""
        for slot, component in self.components.items():
            for root in (component, unwrap_compiled(component), *trunks_of(slot, component)):
                self.slots.setdefault(id(root), slot)
            for path, module in named_modules_of(component, wrappers=True):
                self.paths.setdefault(id(module), path)
        modules = {slot: list(unwrap_compiled(part).modules()) for slot, part in self.components.items()}
        self.watchers = {slot: Watchers(own) for slot, own in modules.items()}
        self.captured = [found for component in self.components.values() for found in _captured_methods(component)]
        """Modules, and the names of their methods that are no longer Python code."""
        self.equal_modules = EqualModules(self.paths, self.real_weights)
        self._classes = {slot: set(map(type, own)) for slot, own in modules.items()}
        self._with_state = {slot for slot, own in modules.items() if _has_state(own)}

    def slots_with_state(self) -> set[str]:
        """Return the components whose calls can depend on earlier calls, so that none of them is replayed.

        These are components with diffusers' caches (hooks with state) or with foreign code. Classes may have been
        changed since the layout was read.
        """
        return self._with_state | {
            slot for slot, classes in self._classes.items() if any(map(has_foreign_functions, classes))
        }


def is_virtual(components: Mapping[str, torch.nn.Module]) -> bool:
    """Whether components were built without weights."""
    parts = components.values()
    return not any(hasattr(part, "_hf_hook") for part in parts) and not real_weight_ids(parts)


def real_weight_ids(components: Iterable[torch.nn.Module]) -> frozenset[int]:
    """Return the `id`s of weights with data."""
    return frozenset(id(weight) for part in components for weight in part.parameters() if not weight.is_meta)


def _has_state(modules: Iterable[torch.nn.Module]) -> bool:
    for module in modules:
        registry = getattr(module, "_diffusers_hook", None)
        if registry is not None and any(getattr(hook, "_is_stateful", False) for hook in registry.hooks.values()):
            return True
        if has_foreign_attributes(module):
            return True
    return False


class Watchers:
    """Observers of the modules of a component: hooks, and processors that store their inputs."""

    def __init__(self, modules: Sequence[torch.nn.Module]) -> None:
        self._hooks = [hooks for module in modules for hooks in (module._forward_hooks, module._forward_pre_hooks)]
        self._with_processor = [module for module in modules if hasattr(module, "processor")]

    def any(self) -> bool:
        """Whether there is an observer now, which must see every call."""
        return any(self._hooks) or any(
            not type(module.processor).__module__.startswith(STATELESS_PROCESSORS) for module in self._with_processor
        )


STATELESS_PROCESSORS = ("diffusers.models.", "transformers.")


def _captured_methods(component: torch.nn.Module) -> Iterator[tuple[torch.nn.Module, str]]:
    for module in component.modules():
        # Private attributes are skipped, because every module has them, and a large model has a hundred thousand.
        own = [(name, value) for name, value in vars(module).items() if name[0] != "_" and name != "training"]
        yield from ((module, name) for name, method in own if is_captured(method) and hasattr(type(module), name))


def is_captured(method: Any) -> bool:
    """Whether a method was replaced by `torch.cuda.make_graphed_callables` or AOTInductor."""
    if isinstance(method, types.FunctionType):
        return method.__module__ == "torch.cuda.graphs"
    return type(method).__name__ == "AOTICompiledModel" and type(method).__module__.startswith("torch.")
