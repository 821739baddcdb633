"""Changes to a model before it is called: quantization, adapters, attention, caches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from diffprof.errors import RequestError
from diffprof.settings.quantizations import quantization_name, storage_dtype_name

EVERY = "*"
"""The components to change if none is named."""


IP_ADAPTERS = ("base", "plus")
"""Published types of IP-Adapters; the first is the default."""


@dataclass(frozen=True)
class Changes:
    """Changes to a model; empty or None if there are none of a kind.

    The components of a request may be ``*``; a profile names the changed components.
    """

    quantize: Mapping[str, str] = field(default_factory=dict)
    """The kind of quantization by component: ``bitsandbytes:nf4``, ``gguf:Q4_K``..."""
    layerwise: Mapping[str, str] = field(default_factory=dict)
    """The storage dtype of layers by component; they are cast when they are called."""
    lora: tuple[str, ...] = ()
    """Weight files, or ranks."""
    controlnet: tuple[str, ...] = ()
    ip_adapter: str | None = None
    attention: str | None = None
    """A backend of diffusers."""
    guidance_interval: tuple[float, ...] = ()
    """The first and the last share of the steps with guidance; empty for all steps."""
    cache: str | None = None
    """A cache of diffusers that skips what hardly changes between steps: ``first_block:threshold=0.1``."""

    @classmethod
    def create(
        cls,
        quantize: str | Iterable[str] | Mapping[str, str] | None = None,
        layerwise: str | Iterable[str] | Mapping[str, str] | None = None,
        lora: Any = None,
        controlnet: str | Iterable[str] | None = None,
        ip_adapter: str | bool | None = None,
        attention: str | None = None,
        guidance_interval: str | Iterable[float] | None = None,
        cache: str | None = None,
    ) -> Changes:
        """Check the changes and create a record of them; strings are as on the command line."""
        changes = cls(
            quantize=_by_component("quantize", quantize, quantization_name),
            layerwise=_by_component("layerwise", layerwise, storage_dtype_name),
            lora=tuple(map(str, _items(lora))),
            controlnet=tuple(map(str, _items(controlnet))),
            ip_adapter=IP_ADAPTERS[0] if ip_adapter is True else ip_adapter or None,
            attention=attention or None,
            guidance_interval=_interval(guidance_interval),
            cache=cache or None,
        )
        _refuse_both(changes)
        return changes

    def __bool__(self) -> bool:
        return any(getattr(self, one.name) for one in fields(self))

    @property
    def non_empty(self) -> dict[str, Any]:
        """The changes that are not empty, by name, as plain values."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value
        }


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _by_component(
    name: str, value: str | Iterable[str] | Mapping[str, str] | None, read: Callable[[str], str]
) -> dict[str, str]:
    """Parse ``nf4`` for all components or ``transformer=nf4`` for one; refuse a component that is named twice."""
    if isinstance(value, Mapping):
        pairs = [(slot, kind) for slot, kind in value.items()]
    else:
        pairs = [_pair(text) for text in _items(value)]
    found: dict[str, str] = {}
    for slot, kind in pairs:
        if not isinstance(kind, str) or not kind.strip():
            raise RequestError(f"{name} takes KIND or COMPONENT=KIND, such as transformer=nf4, not {kind!r}.")
        if slot in found:
            which = "all components" if slot == EVERY else slot
            raise RequestError(f"{name} is given twice for {which}; leave one out.")
        if kind.strip().lower() == "none":
            found[slot] = ""
        else:
            found[slot] = read(kind)
    return found


def _pair(text: str) -> tuple[str, str]:
    slot, equals, kind = str(text).partition("=")
    return (slot.strip(), kind) if equals else (EVERY, slot)


def _interval(value: str | Iterable[float] | None) -> tuple[float, ...]:
    if value is None or value == "":
        return ()
    parts = re.split(r"[:,]", value) if isinstance(value, str) else list(value)
    try:
        numbers = tuple(float(part) for part in parts)
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != 2 or not 0 <= numbers[0] < numbers[1] <= 1:
        raise RequestError(
            f"The guidance interval is START:END, two shares of the steps with 0 <= START < END <= 1, not {value!r}."
        )
    return numbers


def _refuse_both(changes: Changes) -> None:
    """Refuse to both quantize a component and cast its layers."""
    both = [slot for slot in changes.quantize if slot in changes.layerwise and slot != EVERY]
    everything = EVERY in changes.quantize and EVERY in changes.layerwise
    if both or everything:
        which = both[0] if both else "the same components"
        raise RequestError(
            f"quantize and layerwise cannot both change {which}: packed weights are not cast; leave one out."
        )
