"""What was measured is saved raw and comes back the same; what could not have happened is refused in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given

import diffprof
from diffprof.errors import FileFormatError
from diffprof.record import cache
from diffprof.record.files import from_json, to_json
from diffprof.record.measured import (
    Device,
    Iteration,
    Measured,
    SystemPoint,
)
from diffprof.record.profile import Profile
from tests.record.documents import SCHEMA, change
from tests.record.strategies import profiles
from tests.sample_iterations import GPU
from tests.sample_profiles import everything_measured, measured_profile, stable_diffusion


def measured_on_a_gpu() -> Profile:
    return measured_profile(device=GPU)


def nothing_measured() -> Profile:
    """It was interrupted before the first iteration."""
    return measured_profile(iterations=())


MADE_BY_HAND = [measured_profile, measured_on_a_gpu, everything_measured, nothing_measured]


@pytest.mark.parametrize("name", ["p.json", "p.json.gz"])
@pytest.mark.parametrize("make", MADE_BY_HAND)
def test_what_was_measured_is_the_same_when_opened(make: Callable[[], Profile], name: str, tmp_path: Path) -> None:
    opened = diffprof.load(make().save(tmp_path / name))
    assert opened == make()
    assert opened.measured == make().measured
    assert opened.measured is not None


@pytest.mark.parametrize("make", MADE_BY_HAND)
def test_the_saved_format_follows_the_schema(make: Callable[[], Profile]) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(to_json(make()))


def test_a_profile_that_was_only_counted_has_no_measured_part() -> None:
    values = to_json(stable_diffusion())
    assert "measured" not in values
    assert from_json(values).measured is None


def test_both_kinds_of_files_are_of_the_same_version() -> None:
    assert to_json(measured_profile())["format"] == to_json(stable_diffusion())["format"]


def test_the_counted_part_is_written_as_without_a_measurement() -> None:
    values = to_json(measured_profile())
    del values["measured"]
    assert values == to_json(replace(measured_profile(), measured=None))


def test_no_field_of_the_whole_is_forgotten() -> None:
    values = to_json(everything_measured())["measured"]
    for record, written in ((Measured, values), (Device, values["device"]), (Iteration, values["iterations"][0])):
        assert sorted(written) == sorted(field.name for field in fields(record))


@given(profiles())
def test_opening_a_file_a_second_time_changes_nothing(profile: Profile) -> None:
    values = to_json(profile)
    assert to_json(from_json(json.loads(json.dumps(values)))) == values


def test_a_whole_number_is_read_where_a_fraction_could_stand() -> None:
    values = to_json(everything_measured())
    change("measured.system.rows.0.1", 99)(values)
    change("measured.device.peak_flops_per_second", {"float16": 312_000_000_000_000})(values)
    change("measured.load_seconds", 2)(values)
    measured = from_json(values).measured
    assert measured is not None
    assert measured.system[0].cpu_percent == 99
    assert measured.device.peak_flops_per_second == {"float16": 312e12}
    assert measured.load_seconds == 2


def test_a_rate_that_was_divided_by_zero_is_rejected_before_anything_is_written(tmp_path: Path) -> None:
    profile = measured_profile(system=(SystemPoint(0, float("nan"), 1),))
    with pytest.raises(FileFormatError, match=r"measured\.system\.rows\[0\]\[1\]"):
        profile.save(tmp_path / "p.json")
    assert list(tmp_path.iterdir()) == []


def test_a_measured_profile_can_be_kept_in_the_cache() -> None:
    assert cache.write("a" * 64, everything_measured())
    assert cache.read("a" * 64) == everything_measured()


def test_an_infinite_number_in_a_file_is_rejected(tmp_path: Path) -> None:
    path = everything_measured().save(tmp_path / "p.json")
    path.write_text(path.read_text().replace('"load_seconds":1.25', '"load_seconds":1e999'))
    with pytest.raises(FileFormatError, match="load_seconds is too large"):
        diffprof.load(path)
