"""The speedscope file: of its format, in balance, and with every MAC and nanosecond."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import jsonschema
import pytest

from diffprof.record.measured import Sample, Span
from diffprof.record.profile import Profile
from diffprof.render.exports.speedscope import speedscope_json
from tests.render.report.reports import hostile_everywhere
from tests.sample_iterations import GPU, iteration_on
from tests.sample_profiles import UNET_MACS, everything_measured, measured_profile, nothing, stable_diffusion

# What https://www.speedscope.app/file-format-schema.json asks of a file with evented profiles.
EVENT = {
    "type": "object",
    "properties": {"type": {"enum": ["O", "C"]}, "at": {"type": "number"}, "frame": {"type": "integer", "minimum": 0}},
    "required": ["type", "at", "frame"],
}
FORMAT = {
    "type": "object",
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "name": {"type": "string"},
        "exporter": {"type": "string"},
        "activeProfileIndex": {"type": "integer", "minimum": 0},
        "profiles": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "type": {"const": "evented"},
                    "name": {"type": "string"},
                    "unit": {"enum": ["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"]},
                    "startValue": {"type": "number"},
                    "endValue": {"type": "number"},
                    "events": {"type": "array", "items": EVENT},
                },
                "required": ["type", "name", "unit", "startValue", "endValue", "events"],
            },
        },
        "shared": {
            "type": "object",
            "properties": {
                "frames": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
                }
            },
            "required": ["frames"],
        },
    },
    "required": ["$schema", "shared", "profiles"],
}


def document_of(profile: Profile) -> dict[str, Any]:
    values = json.loads(speedscope_json(profile))
    jsonschema.validate(values, FORMAT)
    return dict(values)


def own_lengths(file: dict[str, Any], number: int) -> dict[str, int]:
    """What each frame took itself, by walking the events as a viewer does; fails where they are not in balance."""
    profile, frames = file["profiles"][number], file["shared"]["frames"]
    stack: list[int] = []
    at, own = profile["startValue"], dict.fromkeys((frame["name"] for frame in frames), 0)
    for event in profile["events"]:
        assert at <= event["at"] <= profile["endValue"]
        if stack:
            own[frames[stack[-1]]["name"]] += event["at"] - at
        at = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
        else:
            assert stack.pop() == event["frame"]
    assert not stack
    return own


@pytest.mark.parametrize("made", [stable_diffusion, measured_profile, everything_measured, nothing, hostile_everywhere])
def test_every_profile_is_of_the_format_and_in_balance(made: Any) -> None:
    file = document_of(made())
    for number in range(len(file["profiles"])):
        own_lengths(file, number)
    assert file["activeProfileIndex"] < len(file["profiles"])


def test_a_counted_profile_has_every_mac_by_module() -> None:
    whole = stable_diffusion()
    file = document_of(whole)
    (counted,) = file["profiles"]
    assert (counted["unit"], counted["endValue"]) == ("none", whole.total.macs)
    own = own_lengths(file, 0)
    assert sum(own.values()) == whole.total.macs
    assert own["conv_in: Conv2d"] == 31 * 94_371_840
    assert own["attentions: Transformer2DModel"] == 31 * 3 * 200_000_000_000
    assert own["unet.forward"] == 0


def test_a_measured_profile_has_a_flame_graph_of_every_iteration_and_opens_at_the_first_timed_one() -> None:
    whole = measured_profile(device=GPU)
    file = document_of(whole)
    assert [one["name"] for one in file["profiles"]] == [
        "iteration 1 (warm-up)", "iteration 2", "iteration 3", "iteration 4", "counted, in MACs",
    ]  # fmt: skip
    assert file["activeProfileIndex"] == 1
    own = own_lengths(file, 1)
    assert own["unet_forward"] == 40_000_000
    assert own["text_encoder_forward"] == 1_000_000
    assert own["encode_prompt"] == 300_000
    assert own_lengths(file, 4)["decoder: Decoder"] == whole.components["vae"].macs


def test_sections_that_overlap_on_the_device_are_cut_where_the_next_starts() -> None:
    one = iteration_on(GPU)
    late = Sample("late", Span(0, 10, device_start_ns=500_000, device_ns=10**12))
    file = document_of(measured_profile(device=GPU, iterations=[replace(one, samples=(late, *one.samples))]))
    assert sum(own_lengths(file, 0).values()) <= one.wall.device_ns  # type: ignore[operator]


def test_steps_that_cost_the_same_are_still_drawn_one_after_the_other() -> None:
    file = document_of(stable_diffusion())
    unet = [event["at"] for event in file["profiles"][0]["events"] if _name(file, event) == "unet.forward"]
    starts = unet[::2]
    assert [later - earlier for earlier, later in pairwise(starts)] == [UNET_MACS] * 30


def _name(file: dict[str, Any], event: dict[str, Any]) -> str:
    return str(file["shared"]["frames"][event["frame"]]["name"])
