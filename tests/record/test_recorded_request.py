"""A recorded request says what was in force, and can be made again."""

from __future__ import annotations

from dataclasses import replace

from diffprof.record.recorded_request import RecordedRequest
from tests.sample_profiles import stable_diffusion


def test_a_recorded_request_is_repeated_for_another_model_without_its_generator() -> None:
    recorded = stable_diffusion().request
    request = replace(recorded, arguments={**recorded.arguments, "generator": "a generator"}).as_request("sdxl")
    assert (request.model, request.dtype, request.scheduler) == ("sdxl", recorded.dtype, recorded.scheduler)
    assert dict(request.arguments) == dict(recorded.arguments)


def test_a_size_that_was_not_made_as_requested_has_the_value_that_was_made() -> None:
    recorded = RecordedRequest("m", "folder", "P", {"height": 510, "width": 512}, {"height": 504, "eta": 0.0})
    values = [recorded.value(name) for name in ("height", "width", "eta", "frames")]
    assert values == [504, 512, 0.0, None]


def test_a_component_is_requested_by_its_inputs_alone() -> None:
    recorded = RecordedRequest("m", "folder", "P", {"x": 1}, component="unet", inputs={"sample": "1x4x8x8"})
    request = recorded.as_request("m")
    assert (dict(request.arguments), request.component, dict(request.inputs)) == ({}, "unet", {"sample": "1x4x8x8"})
