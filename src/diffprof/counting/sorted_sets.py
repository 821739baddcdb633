"""Sets of strings that a model goes through in the same order in every process."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from diffprof.pipelines.patching import Patches


def sort_sets(patches: Patches, models: Iterable[object]) -> None:
    """Let models that go through the kinds of their layers do it in alphabetical order.

    Transformers writes ``for layer_type in set(config.layer_types)``: Python shuffles strings in sets anew in every
    process, so that what is executed first would be another operation from one count to the next. Any order is right.
    """
    names = dict.fromkeys(type(model).__module__ for model in models)
    own = [name for name in names if name.startswith("transformers.models.")]
    for name in (*own, *(SHARED_CODE if own else ())):
        if name in sys.modules:
            patches.set(sys.modules[name], "set", SortedSet)


SHARED_CODE = ("transformers.masking_utils",)
"""What several models call, and goes through the kinds of their layers as well."""


class _LikeSet(type):
    """Every set is an instance, as of the class that it stands in for."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, set)


class SortedSet(set[Any], metaclass=_LikeSet):
    """A set whose strings are gone through in alphabetical order, before all else that is in it."""

    def __iter__(self) -> Iterator[Any]:
        values = list(super().__iter__())
        texts = sorted(value for value in values if isinstance(value, str))
        return iter([*texts, *(value for value in values if not isinstance(value, str))])
