"""The process that runs one tool: ``python -m diffprof.crosscheck.worker FOLDER TOOL``.

Reads ``request.json`` in the folder and writes ``TOOL.json`` next to it; the output of the tools is ignored.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from diffprof.crosscheck.result import DIFFPROF
from diffprof.crosscheck.tools import CAPTURE, TOOLS, Tool
from diffprof.errors import DiffprofError, error_summary
from diffprof.pipelines.machine_memory import peak_bytes
from diffprof.record.atomic_files import replace_file
from diffprof.settings.work_limits import WorkLimits

CALL = "call.pt"


def main(folder: Path, name: str) -> None:
    """Run one tool and write its result, which may be a failure."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    warnings.simplefilter("ignore")
    try:
        result = _capture(folder, request) if name == CAPTURE else _count(folder, request, TOOLS[name])
    except DiffprofError as error:
        result = {"error": str(error), "exit_code": error.exit_code}
    except Exception as error:  # noqa: BLE001  any failure of a tool is reported in its row
        result = {"error": f"failed: {error_summary(error)}", "exit_code": 1}
    # Written atomically: a process that is killed has no result.
    replace_file(folder / f"{name}.json", json.dumps(result).encode())


def _capture(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    from diffprof.counting.bounded_work import within_limits
    from diffprof.crosscheck.one_call import open_pipeline, record_costliest_call
    from diffprof.pipelines.components import components_of, element_count, weight_bytes
    from diffprof.render.shapes import inputs_text

    with within_limits(request["model"], WorkLimits(**request["limits"])):
        pipeline, needed = open_pipeline(request["model"])
        call = record_costliest_call(pipeline, request["component"], {**needed, **request["arguments"]})
    call.save(folder / CALL)
    component = components_of(pipeline)[call.component]
    return {
        "component": call.component,
        "class_name": type(component).__name__,
        "method": call.method,
        "inputs": inputs_text(call.inputs),
        "parameters": sum(element_count(weight) for weight in component.parameters()),
        "weight_bytes": weight_bytes(component),
    }


def _count(folder: Path, request: dict[str, Any], tool: Tool) -> dict[str, Any]:
    if importlib.util.find_spec(tool.package) is None:
        raise DiffprofError(f"{tool.package} is not installed; `pip install diffprof[crosscheck]` installs it.")
    from diffprof.crosscheck.counters import COUNTERS, with_diffprof
    from diffprof.crosscheck.one_call import OneCall, RecordedCall, open_pipeline, with_real_weights
    from diffprof.pipelines.components import components_of

    call = RecordedCall.load(folder / CALL)
    pipeline, _ = open_pipeline(request["model"])
    component = components_of(pipeline)[call.component]
    del pipeline
    one_call = OneCall(with_real_weights(component) if tool.real else component, call).eval()
    tensors = one_call.tensors("meta" if tool.name == "torch-meta" else "cpu")
    began = time.perf_counter()
    if tool.name == DIFFPROF:
        parts, activation_bytes = with_diffprof(one_call, tensors)
    else:
        parts, activation_bytes = COUNTERS[tool.name](one_call, tensors), 0
    seconds = time.perf_counter() - began
    return {
        "macs": sum(parts.values()),
        "parts": parts,
        "seconds": seconds,
        "peak_bytes": peak_bytes(),
        "activation_bytes": activation_bytes,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
