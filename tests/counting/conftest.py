"""Fixtures for the tests of counting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from diffprof.counting.dry_run import _DryRun
from diffprof.pipelines import opening
from diffprof.pipelines.building import build as building
from tests.cli.conftest import run
from tests.pipelines.conftest import model, saved_once

__all__ = ["model", "run", "saved_once"]


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    """Tensors are tiny here: several threads take longer than one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def dry_runs(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """The number of steps of every dry run that is made."""
    steps: list[int | None] = []
    execute = _DryRun.execute

    def count(self: _DryRun, arguments: dict[str, Any], *rest: Any) -> None:
        steps.append(arguments.get("num_inference_steps"))
        execute(self, arguments, *rest)

    monkeypatch.setattr(_DryRun, "execute", count)
    return steps


@pytest.fixture
def virtual_models(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The slot of every model that is built on virtual weights."""
    slots: list[str] = []
    build = building.build_virtual_model

    def count(owner: Any, plan: Any, *rest: Any) -> Any:
        slots.append(plan.slot)
        return build(owner, plan, *rest)

    monkeypatch.setattr(building, "build_virtual_model", count)
    monkeypatch.setattr(opening, "_BUILT", {})
    return slots
