"""The whole state of a live pipeline, in a form that can be compared."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import numpy
import torch

PLAIN = (bool, int, float, complex, str, bytes, type(None))


def state_of(pipeline: Any, *generators: torch.Generator) -> dict[str, Any]:
    """Everything that somebody who holds the pipeline could notice: objects by identity, tensors by value."""
    found: dict[str, Any] = {}
    _look(pipeline, "pipeline", found, set())
    found |= _random_states(generators)
    found["threads"] = torch.get_num_threads()
    found["grad"] = torch.is_grad_enabled()
    found["default dtype"] = torch.get_default_dtype()
    return found


def _look(value: Any, path: str, found: dict[str, Any], seen: set[int]) -> None:
    if isinstance(value, torch.Tensor):
        found[path] = _tensor(value)
    elif isinstance(value, PLAIN):
        found[path] = (type(value), repr(value))
    else:
        found[path] = id(value)
        if id(value) in seen:
            return
        seen.add(id(value))
        for name, part in _parts(value):
            _look(part, f"{path}.{name}", found, seen)


def _parts(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"[{key if isinstance(key, PLAIN) else id(key)}]", part) for key, part in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"[{index}]", part) for index, part in enumerate(value)]
    if isinstance(value, (set, frozenset)):
        return [("elements", " ".join(sorted(map(str, value))))]
    if isinstance(value, type) or type(value).__module__ in ("builtins", "torch", "threading", "re", "tokenizers"):
        return []
    return list(vars(value).items()) if hasattr(value, "__dict__") else []


def _tensor(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Values by their bytes, so that a NaN is equal to itself."""
    place = (id(tensor), tensor.data_ptr(), tensor.device, tensor.dtype, tuple(tensor.shape), tensor.stride())
    values = b""
    if not tensor.is_meta:
        values = tensor.detach().reshape(-1).view(torch.uint8).numpy().tobytes()
    return (*place, tensor.requires_grad, tensor._version, tensor.grad is None, hashlib.sha256(values).hexdigest())


def _random_states(generators: tuple[torch.Generator, ...]) -> dict[str, Any]:
    kind, keys, *rest = numpy.random.get_state()
    return {
        "random torch": torch.get_rng_state().tolist(),
        "random numpy": (kind, keys.tolist(), *rest),
        "random python": random.getstate(),
        **{f"generator {number}": generator.get_state().tolist() for number, generator in enumerate(generators)},
    }


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Paths at which two states differ."""
    return [path for path in {**before, **after} if before.get(path, "nothing") != after.get(path, "nothing")]
