"""Memory of the machine and of this process, on every system."""

from __future__ import annotations

import builtins
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from diffprof.pipelines import machine_memory
from diffprof.pipelines.machine_memory import available_bytes, peak_bytes


def test_available_memory_is_at_most_that_of_the_machine() -> None:
    available = available_bytes()
    assert available is not None
    assert 0 < available <= psutil.virtual_memory().total


def test_a_container_limits_what_is_available(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"memory.max": "3000\n", "memory.current": "1000\n"}
    monkeypatch.setattr(machine_memory, "_read", lambda path: limits.get(path.name, ""))
    assert available_bytes() == 2000


def test_a_container_without_a_limit_has_what_the_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_memory, "_read", lambda path: "max\n" if path.name == "memory.max" else "")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=5000))
    assert available_bytes() == 5000


def test_the_peak_of_the_process_covers_what_it_holds_now() -> None:
    assert peak_bytes() >= psutil.Process().memory_info().rss // 2


def test_windows_says_the_peak_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    process = SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=10, peak_wset=70))
    monkeypatch.setattr(machine_memory, "_read", lambda path: "")
    monkeypatch.setattr(psutil, "Process", lambda: process)
    assert peak_bytes() == 70


def test_without_getrusage_the_peak_is_at_least_what_the_process_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without_resource(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "resource":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    process = SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=10))
    monkeypatch.setattr(machine_memory, "_read", lambda path: "")
    monkeypatch.setattr(psutil, "Process", lambda: process)
    monkeypatch.setattr(builtins, "__import__", without_resource)
    assert peak_bytes() == 10


def test_a_file_that_is_not_there_reads_as_nothing(tmp_path: Path) -> None:
    assert machine_memory._read(tmp_path / "none") == ""
