"""Run every tool on the same call of a component, one after another, each in its own process.

This module does not import torch, so that this process leaves more memory to the tools.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from diffprof import errors
from diffprof.crosscheck.result import DIFFPROF, Count, Crosscheck
from diffprof.crosscheck.tools import CAPTURE, TOOLS, Tool
from diffprof.errors import DiffprofError, RequestError
from diffprof.pipelines.machine_memory import available_bytes
from diffprof.record.progress import Activity, Progress, ProgressEvent
from diffprof.settings.work_limits import work_limits

LIBRARIES_BYTES = 700_000_000
"""The memory of torch, diffusers and transformers before anything is computed."""

TOO_LARGE = "the free memory does not hold a real run of the model"


def crosscheck(
    model: str,
    component: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    tools: Sequence[str] = tuple(TOOLS),
    timeout: float = 900,
    progress: Progress | None = None,
) -> Crosscheck:
    """Count one call of a component (by default the denoiser) with several tools, on the same inputs.

    The inputs are those of the pipeline's own call with `arguments`; weights are random, in the real architecture. If a
    tool is missing, fails, would not fit into memory or needs more than `timeout` seconds, its row says so.
    """
    selected = _select_tools(tools)
    limits = asdict(work_limits())
    request = {"model": model, "component": component, "arguments": dict(arguments or {}), "limits": limits}
    report = progress or (lambda event: None)
    with tempfile.TemporaryDirectory(prefix="diffprof-crosscheck-") as name:
        folder = Path(name)
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        report(ProgressEvent(Activity.opening, model, 0, len(selected)))
        caught = _truth(_run(folder, CAPTURE, timeout))
        counts = []
        needed = 0
        for done, tool in enumerate(selected):
            report(ProgressEvent(Activity.crosschecking, tool.title, done, len(selected)))
            free = available_bytes()
            if tool.real and free is not None and needed > free:
                counts.append(Count(tool.name, tool.title, reason=TOO_LARGE, needed_bytes=needed, free_bytes=free))
                continue
            result = _run(folder, tool.name, timeout)
            if tool.name == DIFFPROF:
                needed = _needed_bytes(caught, _truth(result))
            counts.append(_count(tool, result))
    call = {key: caught[key] for key in ("component", "class_name", "method", "inputs", "parameters")}
    return Crosscheck(model=model, counts=tuple(counts), **call)


def _select_tools(names: Sequence[str]) -> list[Tool]:
    unknown = [name for name in names if name not in TOOLS]
    if unknown:
        raise RequestError(f"there is no tool {unknown[0]!r}; there are {', '.join(TOOLS)}")
    # diffprof runs first: the others are compared with it, and it predicts how much memory they need.
    return [TOOLS[name] for name in dict.fromkeys((DIFFPROF, *names))]


def _truth(result: dict[str, Any]) -> dict[str, Any]:
    """Raise an error if diffprof's own count failed, because there is nothing to compare with then."""
    if "error" in result:
        raise (RequestError if result.get("exit_code") == 2 else DiffprofError)(result["error"])
    return result


def _needed_bytes(caught: Mapping[str, Any], ours: Mapping[str, Any]) -> int:
    """The memory of a real run: libraries, weights, and 1.5 times the activations, to cover workspaces of kernels."""
    weights, activations = int(caught["weight_bytes"]), int(ours["activation_bytes"])
    return LIBRARIES_BYTES + weights + activations * 3 // 2


def _run(folder: Path, name: str, timeout: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "diffprof.crosscheck.worker", str(folder), name]
    source = str(Path(errors.__file__).parent.parent)
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        ended = subprocess.run(command, env=environment, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"not finished after {timeout:g} seconds; allow more with --timeout"}
    result = folder / f"{name}.json"
    if result.is_file():
        return dict(json.loads(result.read_text(encoding="utf-8")))
    if ended.returncode < 0:
        return {"error": f"was killed by signal {-ended.returncode}, most likely because it ran out of memory"}
    output = ended.stderr.decode(errors="replace").strip().splitlines()
    return {"error": f"failed: {output[-1] if output else f'exit code {ended.returncode}'}"}


def _count(tool: Tool, result: Mapping[str, Any]) -> Count:
    if "error" in result:
        return Count(tool.name, tool.title, reason=str(result["error"]))
    return Count(tool.name, tool.title, result["macs"], result["parts"], result["seconds"], result["peak_bytes"])
