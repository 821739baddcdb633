"""What cannot have been counted or measured together is refused in a sentence that names its place."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.errors import FileFormatError
from diffprof.record.codec import Table
from diffprof.record.files import from_json, to_json
from diffprof.record.measured import Sample
from tests.record.documents import Damage, change
from tests.sample_profiles import everything_measured

# Samples of `everything_measured`: 0 is the encoding of the prompt with 1 and 2 inside, then the UNet (3, 5, ...) and
# the scheduler (4, 6, ...) in turn, then the VAE (11) and post-processing (12).
SAMPLES = "measured.iterations.0.samples.rows"
COLUMN = {name: place for place, name in enumerate(Table(Sample).columns)}


def sample(number: int, column: str, value: Any) -> Damage:
    return change(f"{SAMPLES}.{number}.{COLUMN[column]}", value)


def swap_samples(one: int, other: int) -> Damage:
    def apply(values: dict[str, Any]) -> None:
        rows = values["measured"]["iterations"][0]["samples"]["rows"]
        rows[one], rows[other] = rows[other], rows[one]

    return apply


def without(path: str) -> Damage:
    def apply(values: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        place: Any = values
        for part in parents:
            place = place[int(part) if part.isdecimal() else part]
        del place[last]

    return apply


IN_SAMPLES = "of measured.iterations[0].samples"
DAMAGES: dict[str, tuple[Damage, str]] = {
    "nothing at all": (change("measured", None), "measured is not an object"),
    "no device": (without("measured.device"), "measured.device is missing"),
    "no iterations": (without("measured.iterations"), "measured.iterations is missing"),
    "iterations that are no objects": (
        change("measured.iterations", [1]),
        "measured.iterations is not a list of objects",
    ),
    "a flag that is a number": (change("measured.repeated", 1), "measured.repeated is neither true nor false"),
    "a negative duration": (
        change("measured.load_seconds", -1.5),
        "measured.load_seconds is not a number of 0 or more",
    ),
    "a duration that is a text": (change("measured.load_seconds", "1"), "load_seconds is not a number of 0 or more"),
    "a duration that is true": (change("measured.load_seconds", True), "load_seconds is not a number of 0 or more"),
    "an infinite duration": (
        change("measured.load_seconds", float("inf")),
        "load_seconds is too large",
    ),
    "a peak of 0": (
        change("measured.device.peak_flops_per_second.float16", 0.0),
        "measured.device.peak_flops_per_second has a peak of 0",
    ),
    "nominal work of a component that is not there": (
        change("measured.nominal_macs", {"transformer": 1}),
        "measured.nominal_macs names the component transformer, which does not exist",
    ),
    "nominal work that is a fraction": (
        change("measured.nominal_macs.unet", 1.5),
        "measured.nominal_macs.unet is not a whole number of 0 or more",
    ),
    "a negative rate": (change("measured.system.rows.0.1", -0.5), "row 0 of measured.system does not fit its columns"),
    "an infinite rate": (
        change("measured.system.rows.1.3", float("inf")),
        "row 1 of measured.system does not fit its columns",
    ),
    "a missing rate that must be there": (
        change("measured.system.rows.0.1", None),
        "row 0 of measured.system does not fit its columns",
    ),
    "bytes that are a fraction": (
        change("measured.system.rows.0.2", 1.5),
        "row 0 of measured.system does not fit its columns",
    ),
    "a time that nobody lives to see": (
        change("measured.iterations.0.began_ns", 10**400),
        "measured.iterations[0].began_ns is too large",
    ),
    "a negative wall time": (
        change("measured.iterations.0.wall.host_ns", -1),
        "measured.iterations[0].wall.host_ns is not a whole number of 0 or more",
    ),
    "a wall time with half of a device": (
        change("measured.iterations.0.wall.device_ns", None),
        "measured.iterations[0].wall has only one of start and duration on the device",
    ),
    "an iteration shorter than its samples": (
        change("measured.iterations.0.wall.host_ns", 59_000_000),
        f"row 12 {IN_SAMPLES} is not within the time around it",
    ),
    "an iteration that begins after its samples": (
        change("measured.iterations.0.wall.start_ns", 150_000),
        f"row 0 {IN_SAMPLES} is not within the time around it",
    ),
    "samples with other columns": (
        change("measured.iterations.0.samples.columns", ["section"]),
        "measured.iterations[0].samples does not have the columns section, start_ns, host_ns, device_start_ns",
    ),
    "a short row": (change(f"{SAMPLES}.3", ["unet_forward"]), f"row 3 {IN_SAMPLES} does not fit its columns"),
    "a sample that begins before everything": (
        sample(0, "start_ns", -1),
        f"row 0 {IN_SAMPLES} does not fit its columns",
    ),
    "a sample with only one of start and duration on the device": (
        sample(3, "device_start_ns", None),
        f"row 3 {IN_SAMPLES} has only one of start and duration on the device",
    ),
    "a sample that is its own parent": (
        sample(3, "parent", 3),
        f"row 3 {IN_SAMPLES} refers to a parent that does not come before it",
    ),
    "a parent that comes later": (
        sample(1, "parent", 2),
        f"row 1 {IN_SAMPLES} refers to a parent that does not come before it",
    ),
    "a sample longer than its parent": (
        sample(2, "host_ns", 700_000),
        f"row 2 {IN_SAMPLES} is not within the time around it",
    ),
    "a sample that lies outside of its parent": (
        sample(3, "parent", 0),
        f"row 3 {IN_SAMPLES} is not within the time around it",
    ),
    "two samples at the same time": (
        sample(4, "start_ns", 11_499_999),
        f"row 4 {IN_SAMPLES} overlaps with its neighbour",
    ),
    "two samples at the same time in a third": (
        sample(1, "host_ns", 600_001),
        f"row 2 {IN_SAMPLES} overlaps with its neighbour",
    ),
    "samples that are not in order": (swap_samples(2, 3), f"row 3 {IN_SAMPLES} begins before the row above it"),
    "a step that is not there": (sample(3, "step", 4), f"row 3 {IN_SAMPLES} refers to a step that does not exist"),
    "a call that is not there": (sample(3, "call", 7), f"row 3 {IN_SAMPLES} refers to a call that does not exist"),
    "a call of another component": (sample(3, "call", 0), f"row 3 {IN_SAMPLES} refers to a call of another component"),
    "a call of a sample that is no component": (
        sample(4, "call", 2),
        f"row 4 {IN_SAMPLES} refers to a call of another component",
    ),
    "a call that two samples have": (
        sample(5, "call", 2),
        f"row 5 {IN_SAMPLES} refers to the same call as another row",
    ),
    "a denoising step that ends after the iteration": (
        change("measured.iterations.0.steps.rows.3.3", 10**9),
        "row 3 of measured.iterations[0].steps is not within the time around it",
    ),
    "a denoising step that is there twice": (
        change("measured.iterations.0.steps.rows.2.1", 1),
        "row 2 of measured.iterations[0].steps does not have the next number of its scheduler",
    ),
    "a denoising step with only one of start and duration on the device": (
        change("measured.iterations.0.steps.rows.0.5", None),
        "row 0 of measured.iterations[0].steps has only one of start and duration on the device",
    ),
    "memory of a sample that is not there": (
        change("measured.iterations.0.memory.rows.1.7", 13),
        "row 1 of measured.iterations[0].memory refers to a sample that does not exist",
    ),
    "memory without a figure for the process": (
        change("measured.iterations.0.memory.rows.1.2", None),
        "row 1 of measured.iterations[0].memory does not fit its columns",
    ),
    "negative memory of the device": (
        change("measured.iterations.0.memory.rows.1.4", -1),
        "row 1 of measured.iterations[0].memory does not fit its columns",
    ),
    "a move in a step that is not there": (
        change("measured.iterations.0.moves.rows.0.5", 4),
        "row 0 of measured.iterations[0].moves refers to a step that does not exist",
    ),
    "a move to nowhere": (
        change("measured.iterations.0.moves.rows.0.1", "up"),
        "row 0 of measured.iterations[0].moves has an unknown direction",
    ),
    "a cache in a step that is not there": (
        change("measured.iterations.0.caches.rows.0.3", 4),
        "row 0 of measured.iterations[0].caches refers to a step that does not exist",
    ),
    "a cache that neither had it nor not": (
        change("measured.iterations.0.caches.rows.0.1", None),
        "row 0 of measured.iterations[0].caches does not fit its columns",
    ),
    "damage in a later iteration": (
        change(f"measured.iterations.1.samples.rows.0.{COLUMN['parent']}", 9),
        "row 0 of measured.iterations[1].samples refers to a parent that does not come before it",
    ),
}


@pytest.mark.parametrize(("damage", "sentence"), DAMAGES.values(), ids=DAMAGES.keys())
def test_impossible_measurements_are_rejected(damage: Damage, sentence: str) -> None:
    values = to_json(everything_measured())
    damage(values)
    with pytest.raises(FileFormatError) as refusal:
        from_json(values)
    assert sentence in str(refusal.value)
    assert str(refusal.value).startswith("The profile is damaged: ")
    assert "\n" not in str(refusal.value)
