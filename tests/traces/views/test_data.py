"""Traces for programs: the names of JSON and CSV hold, also where the facts behind them are typed."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import jsonschema

from diffprof.traces import TraceRequest, TraceResult, compare_traces, explain_request
from diffprof.traces.facts import AlternativeReason, FusedAlternative
from diffprof.traces.views.data import result_csv, result_json
from diffprof.traces.views.tables import TraceBy
from tests.traces.conftest import Explain
from tests.traces.trace_builder import two_denoising_steps

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "trace.schema.json").read_text(encoding="utf-8"))


def test_a_fused_alternative_is_written_as_fast(explain_built: Explain) -> None:
    explanation = explain_built(two_denoising_steps())
    slow = replace(
        explanation.attention[0],
        backend="math",
        alternative=FusedAlternative("", AlternativeReason.odd_head, 60),
    )
    result = TraceResult((replace(explanation, attention=(slow,)),))
    (trace,) = json.loads(result_json(result))["traces"]
    words = "none: a head size of 60 is not a multiple of 8"
    assert trace["attention"][0]["fast"] == words
    check = next(check for check in trace["checks"] if check["name"] == "attention")
    assert (check["verdict"], check["figures"]["fast"]) == ("bad", words)
    (row,) = csv.DictReader(io.StringIO(result_csv(result, TraceBy.attention)))
    assert (row["backend"], row["fast"]) == ("math", words)
    jsonschema.validate(json.loads(result_json(result)), SCHEMA)


def test_invalid_utf_8_is_counted_and_noted(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(two_denoising_steps().text().encode().replace(b"aten::mm", b"aten::\xff"))
    content = result_json(explain_request(TraceRequest((path,))))
    (trace,) = json.loads(content)["traces"]
    assert trace["source"]["invalid_bytes"] == 2
    assert trace["source"]["notes"] == ["Bytes that are not valid UTF-8 (2 bytes) are shown as \\xNN."]
    assert {op["name"] for op in trace["host_ops"]} >= {"aten::\\xff"}
    jsonschema.validate(json.loads(content), SCHEMA)


def test_a_comparison_has_both_traces_and_its_differences_in_words(explain_built: Explain) -> None:
    before = explain_built(two_denoising_steps())
    after = replace(before, source=replace(before.source, device_names=("NVIDIA A100",)))
    values = json.loads(result_json(TraceResult((after,), comparison=compare_traces(before, after))))
    assert len(values["traces"]) == 2
    assert values["comparison"]["differences"] == ["device: NVIDIA H100 before, NVIDIA A100 after"]
