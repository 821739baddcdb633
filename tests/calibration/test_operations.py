"""The operations of somebody's own trace, held against the time model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calibration.checks import trace_errors
from calibration.kernels import traces
from calibration.operations import line, main, read_traces
from calibration.predictions import category_seconds

from diffprof.catalogue.efficiency import fitted_numbers

OPERATIONS = [
    ["aten::addmm", "GEMM", [[1536], [32256, 1536], [1536, 1536], []], ["c10::BFloat16"] * 3 + ["Scalar"], 1800, 203.7],
    ["aten::add", "elementwise", [[1, 32256, 1536], [1, 1, 1536]], ["float", "float"], 600, 166.8],
    ["triton_poi_fused", "triton", [[8]], ["float"], 10, 5.0],
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_text(
        json.dumps({"gpu": "NVIDIA H100 (SXM)", "what": "a run", "operations": OPERATIONS}), encoding="utf-8"
    )
    return path


def test_operations_in_the_form_of_torch_profiler_are_read_as_those_of_the_fit(file: Path) -> None:
    (trace,) = read_traces(file)
    assert (trace.accelerator, trace.name, trace.categories) == ("h100-sxm", "a run", ("GEMM", "elementwise"))
    wan = next(one for one in traces() if one.name == "wan2.1-t2v-1.3b")
    assert set(trace.table.loads) <= set(wan.table.loads)


def test_the_line_has_predicted_against_measured_time_by_kind(file: Path) -> None:
    (trace,) = read_traces(file)
    predicted, measured = category_seconds(trace, fitted_numbers())["GEMM"]
    assert measured == pytest.approx(1800 * 203.7e-6)
    assert f"GEMM {predicted / measured:.2f}, elementwise" in line(trace)
    assert line(trace).startswith("h100-sxm, a run: 466.7 ms, predicted ")


def test_another_accelerator_may_be_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(file), "--accelerator", "mi300x"])
    assert capsys.readouterr().out.startswith("mi300x, a run")


def test_every_kind_of_every_run_takes_about_its_time() -> None:
    for trace in traces():
        measured = sum(trace.seconds)
        shares = {kind: times[1] / measured for kind, times in category_seconds(trace, fitted_numbers()).items()}
        ratios = trace_errors()[trace.accelerator, trace.name][1]
        kinds = [kind for kind, share in shares.items() if share >= 0.03 and kind != "other"]
        assert {kind: ratios[kind] for kind in kinds if abs(ratios[kind] - 1) > 0.25} == {}
