"""The Chrome trace: events of its format, nested, with exact times."""

from __future__ import annotations

import json
from typing import Any

import pytest

from diffprof.record.profile import Profile
from diffprof.render.exports.chrome_trace import (
    CACHES,
    COUNTED,
    MEASURED,
    MOVES,
    ON_DEVICE,
    SECTIONS,
    STEPS,
    chrome_trace_json,
)
from tests.render.report.reports import hostile_everywhere
from tests.sample_iterations import GPU
from tests.sample_profiles import everything_measured, measured_profile, nothing, stable_diffusion

# What the trace event format asks of each kind of event.
FIELDS = {
    "X": {"name": str, "cat": str, "ts": (int, float), "dur": (int, float), "pid": int, "tid": int, "args": dict},
    "C": {"name": str, "ts": (int, float), "pid": int, "args": dict},
    "i": {"name": str, "ts": (int, float), "pid": int, "tid": int, "s": str},
    "M": {"name": str, "pid": int, "args": dict},
}


def events_of(profile: Profile) -> list[dict[str, Any]]:
    values = json.loads(chrome_trace_json(profile))
    assert values["displayTimeUnit"] == "ms"
    for event in values["traceEvents"]:
        for name, kind in FIELDS[event["ph"]].items():
            assert isinstance(event[name], kind), (name, event)  # type: ignore[arg-type]
    return list(values["traceEvents"])


def spans(events: list[dict[str, Any]], process: int, thread: int) -> list[dict[str, Any]]:
    return [one for one in events if one["ph"] == "X" and (one["pid"], one["tid"]) == (process, thread)]


@pytest.mark.parametrize("made", [stable_diffusion, measured_profile, everything_measured, nothing, hostile_everywhere])
def test_the_spans_of_a_thread_lie_inside_or_beside_each_other(made: Any) -> None:
    events = events_of(made())
    threads = {(one["pid"], one["tid"]) for one in events if one["ph"] == "X"}
    for process, thread in threads - {(MEASURED, MOVES)}:
        open_until: list[float] = []
        for one in spans(events, process, thread):
            begins, ends = one["ts"], one["ts"] + one["dur"]
            while open_until and begins >= open_until[-1] - 1e-3:
                open_until.pop()
            assert not open_until or ends <= open_until[-1] + 1e-3, one
            open_until.append(ends)


def test_a_measured_run_has_its_sections_steps_moves_caches_and_memory() -> None:
    events = events_of(everything_measured())
    assert [one["name"] for one in spans(events, MEASURED, SECTIONS)][:3] == [
        "iteration 1 (warm-up)", "encode_prompt", "text_encoder_forward",
    ]  # fmt: skip
    unet = [one["dur"] for one in spans(events, MEASURED, SECTIONS) if one["name"] == "unet_forward"]
    assert unet[:4] == [10_000.0] * 4
    assert len(spans(events, MEASURED, ON_DEVICE)) == len(spans(events, MEASURED, SECTIONS))
    assert [one["name"] for one in spans(events, MEASURED, STEPS)][:4] == ["step 0", "step 1", "step 2", "step 3"]
    (move, *_) = spans(events, MEASURED, MOVES)
    assert (move["name"], move["args"]["bytes"]) == ("unet", 1_731_821_448)
    assert "FirstBlockCache: miss" in [one["name"] for one in events if one.get("tid") == CACHES and one["ph"] == "i"]
    memory = [one["args"] for one in events if one["ph"] == "C" and one["name"] == "memory in bytes"]
    assert memory[0] == {"allocated": 8_000_000_000, "reserved": 9_000_000_000, "resident": 2_000_000_000}


def test_iterations_lie_one_after_the_other_as_they_ran() -> None:
    events = events_of(measured_profile(device=GPU))
    began = [one["ts"] for one in spans(events, MEASURED, SECTIONS) if one["name"].startswith("iteration")]
    assert began == sorted(began)
    assert len(set(began)) == 4


def test_counts_are_drawn_to_a_scale_that_the_name_states() -> None:
    whole = stable_diffusion()
    events = events_of(whole)
    (name,) = [one["args"]["name"] for one in events if one["name"] == "process_name"]
    assert name == "counted: 1 us is 10.00 MMACs"
    calls = [one for one in spans(events, COUNTED, 1) if one["name"].endswith((".forward", ".decode"))]
    assert len(calls) == 34
    assert sum(one["args"]["macs"] for one in calls) == whole.total.macs
    assert sum(one["dur"] for one in calls) == pytest.approx(whole.total.macs / 10**7)
    assert calls[2]["args"]["step"] == 0
