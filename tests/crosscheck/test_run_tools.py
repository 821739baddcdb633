"""A tool that cannot count says why in its row; the others go on."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from diffprof.crosscheck import run_tools
from diffprof.crosscheck.result import ATTENTION
from diffprof.crosscheck.run_tools import crosscheck
from diffprof.errors import DiffprofError, RequestError

CAUGHT = {
    "component": "unet", "class_name": "UNet", "method": "forward", "inputs": "sample 2x4",
    "parameters": 10, "weight_bytes": 5_000_000_000,
}  # fmt: skip
COUNTED = {"macs": 7, "parts": {ATTENTION: 7}, "seconds": 0.5, "peak_bytes": 9, "activation_bytes": 2_000_000_000}


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What each process ends with: a result to write, an exception, or an exit code."""
    results: dict[str, Any] = {"capture": CAUGHT, "diffprof": COUNTED, "thop": COUNTED, "fvcore": COUNTED}

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        folder, name = Path(command[-2]), command[-1]
        result = results[name]
        if isinstance(result, Exception):
            raise result
        if isinstance(result, int):
            return subprocess.CompletedProcess(command, result, b"", b"Traceback\nMemoryError: no more")
        (folder / f"{name}.json").write_text(json.dumps(result), encoding="utf-8")
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr(run_tools.subprocess, "run", run)
    monkeypatch.setattr(run_tools, "available_bytes", lambda: 20_000_000_000)
    return results


def reason_of_thop() -> str:
    ours, thop, fvcore = crosscheck("model", tools=("thop", "fvcore")).counts
    assert (ours.macs, fvcore.macs) == (7, 7)
    return thop.reason


def test_counts_come_in_the_requested_order_with_ours_first(results: dict[str, Any]) -> None:
    made = crosscheck("model", tools=("fvcore", "thop"))
    assert [count.tool for count in made.counts] == ["diffprof", "fvcore", "thop"]
    assert (made.component, made.truth.macs, made.counts[1].peak_bytes) == ("unet", 7, 9)


def test_a_tool_that_takes_too_long_is_given_up(results: dict[str, Any]) -> None:
    results["thop"] = subprocess.TimeoutExpired("thop", 900)
    assert reason_of_thop() == "not finished after 900 seconds; allow more with --timeout"


def test_a_tool_that_is_killed_says_so(results: dict[str, Any]) -> None:
    results["thop"] = -9
    assert reason_of_thop() == "was killed by signal 9, most likely because it ran out of memory"


def test_a_tool_that_the_kernel_ends_for_its_memory_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # The kernel sends this signal where memory runs out; nobody can catch it.
    dying = tmp_path / "python"
    dying.write_text("#!/bin/sh\nkill -KILL $$\n")
    dying.chmod(0o755)
    monkeypatch.setattr(run_tools.sys, "executable", str(dying))
    assert run_tools._run(tmp_path, "thop", timeout=600)["error"].startswith("was killed by signal 9")


def test_a_tool_that_dies_shows_its_last_words(results: dict[str, Any]) -> None:
    results["thop"] = 1
    assert reason_of_thop() == "failed: MemoryError: no more"


def test_a_model_that_does_not_fit_is_not_started(results: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tools, "available_bytes", lambda: 8_000_000_000)
    results["torch-meta"] = COUNTED
    ours, thop, meta = crosscheck("model", tools=("thop", "torch-meta")).counts
    assert thop.reason == "the free memory does not hold a real run of the model"
    assert (thop.needed_bytes, thop.free_bytes) == (8_700_000_000, 8_000_000_000)
    assert (ours.macs, meta.macs) == (7, 7)


def test_without_the_call_there_is_nothing_to_compare(results: dict[str, Any]) -> None:
    results["capture"] = {"error": "unknown model 'model'", "exit_code": 2}
    with pytest.raises(RequestError, match="unknown model"):
        crosscheck("model")
    results["capture"] = {"error": "the pipeline refused the call", "exit_code": 1}
    with pytest.raises(DiffprofError, match="refused the call"):
        crosscheck("model")


def test_an_unknown_tool_is_rejected_before_any_work() -> None:
    with pytest.raises(RequestError, match="there is no tool 'ptflops'; there are diffprof, thop-sdpa, thop"):
        crosscheck("model", tools=("ptflops",))
