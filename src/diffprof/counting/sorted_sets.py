"""Sets of strings that models iterate over in the same order in every process."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from diffprof.pipelines.patching import Patches


def sort_sets(patches: Patches, models: Iterable[object]) -> None:
    """Let models iterate over the types of their layers in alphabetical order.

    Transformers writes ``for layer_type in set(config.layer_types)``. The order of strings in a set differs between
    processes, so two counts would execute operations in different orders. Any order is correct.
    """
    names = dict.fromkeys(type(model).__module__ for model in models)
    own = [name for name in names if name.startswith("transformers.models.")]
    for name in (*own, *(SHARED_CODE if own else ())):
        if name in sys.modules:
            patches.set(sys.modules[name], "set", SortedSet)


SHARED_CODE = ("transformers.masking_utils",)
"""Modules that several models call, and that iterate over layer types as well."""


class _SetMeta(type):
    """Treats every set as an instance, as the class that it replaces does."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, set)


class SortedSet(set[Any], metaclass=_SetMeta):
    """A set that yields its strings first, in alphabetical order."""

    def __iter__(self) -> Iterator[Any]:
        values = list(super().__iter__())
        texts = sorted(value for value in values if isinstance(value, str))
        return iter([*texts, *(value for value in values if not isinstance(value, str))])
