"""Tests with many cases: a few of them always run, all of them with ``--extensive``."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def split_cases(names: Iterable[str], always: Collection[str]) -> list[Any]:
    """A parameter for each name; those that are not in ``always`` are run with the extensive tests only."""
    cases = list(names)
    unknown = set(always) - set(cases)
    assert not unknown, f"no such cases: {sorted(unknown)}"
    return [pytest.param(name, id=name, marks=() if name in always else pytest.mark.extensive) for name in cases]
