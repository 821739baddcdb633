"""A profile that was saved is the same profile when it is opened; a file that is not one is refused in a sentence."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given

import diffprof
from diffprof.errors import FileFormatError, OutputError
from diffprof.record import files
from diffprof.record.advice import Advice
from diffprof.record.files import FORMAT_VERSION, from_json, load, save, to_json
from diffprof.record.fit import Fit
from diffprof.record.prediction import Prediction
from diffprof.record.profile import Profile
from diffprof.record.results import Result
from tests.record.documents import SCHEMA, leaves
from tests.record.strategies import profiles
from tests.sample_profiles import (
    UNET_CALLS,
    UNET_MACS,
    everything_measured,
    hostile,
    measured_profile,
    nothing,
    stable_diffusion,
)

MADE_BY_HAND = [stable_diffusion, measured_profile, nothing, hostile]


@pytest.mark.parametrize("name", ["p.json", "p.json.gz", "P.JSON.GZ"])
@pytest.mark.parametrize("make", MADE_BY_HAND)
def test_a_saved_profile_is_the_same_when_opened(make: Callable[[], Profile], name: str, tmp_path: Path) -> None:
    path = make().save(tmp_path / name)
    assert diffprof.load(path) == make()
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.lower().endswith(".gz")


@given(profiles())
def test_every_profile_survives_the_way_through_json(profile: Profile) -> None:
    values = json.loads(files.dumps(profile))
    assert from_json(values) == profile
    jsonschema.Draft202012Validator(SCHEMA).validate(values)


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("make", MADE_BY_HAND)
def test_the_saved_format_follows_the_schema(make: Callable[[], Profile]) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(to_json(make()))


def test_json_keys_are_the_names_of_the_attributes() -> None:
    values = to_json(stable_diffusion())
    profile = stable_diffusion()
    assert values["total"]["macs"] == profile.total.macs
    assert values["total"]["flops"] == 2 * profile.total.macs
    assert values["total"]["parameters"] == profile.total.parameters
    unet = values["components"]["unet"]
    assert (unet["macs"], unet["calls"], unet["role"]) == (UNET_CALLS * UNET_MACS, UNET_CALLS, "denoiser")
    assert (values["steps"]["count"], values["steps"]["macs"]) == (UNET_CALLS, UNET_MACS)
    assert len(values["calls"]) == 34
    assert values["calls"][2]["step"] == 0


def test_the_same_profile_is_the_same_file(tmp_path: Path) -> None:
    one, other = save(stable_diffusion(), tmp_path / "a.json.gz"), save(stable_diffusion(), tmp_path / "b.json.gz")
    assert one.read_bytes() == other.read_bytes()


WRONG_VALUES = (None, [], {}, "x", -1, 1.5, True)


@pytest.mark.parametrize(
    ("make", "tried"),
    [
        (hostile, 2),
        (everything_measured, 1),
        *(
            pytest.param(make, len(WRONG_VALUES), marks=pytest.mark.extensive)
            for make in (hostile, everything_measured)
        ),
    ],
)
def test_a_wrong_type_anywhere_is_always_a_file_format_error(make: Callable[[], Profile], tried: int) -> None:
    """In each place the next ones of the wrong values."""
    values = to_json(make())
    wrong_values = itertools.cycle(WRONG_VALUES)
    for *parents, last in leaves(values):
        place: Any = values
        for part in parents:
            place = place[part]
        right = place[last]
        for wrong in itertools.islice(wrong_values, tried):
            place[last] = wrong
            try:
                from_json(values)
            except FileFormatError as refusal:
                assert str(refusal).count("\n") == 0
        place[last] = right
    assert from_json(values) == make()


NOT_PROFILES = {
    "nothing": b"",
    "broken JSON": b"{",
    "not text": b"\xff\xfe\x00",
    "a number": b"5",
    "a list": b"[]",
    "another object": b'{"format": 1}',
    "another format": b'{"format": {"name": "other", "version": 1}}',
    "NaN": b'{"format": NaN}',
    "deep nesting": b"[" * 100_000,
    "a huge number": b"9" * 10_000,
    "gzip that ends early": gzip.compress(b"{}" * 1000)[:-12],
    "gzip that is damaged": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + b"\xff" * 50,
    "gzip of something else": gzip.compress(b"hello"),
}


@pytest.mark.parametrize("content", NOT_PROFILES.values(), ids=NOT_PROFILES.keys())
def test_a_file_that_is_not_a_profile_is_rejected_with_a_message(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(content)
    with pytest.raises(FileFormatError) as refusal:
        load(path)
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("version", "words"), [(FORMAT_VERSION + 1, "upgrade"), (0, "unknown"), ("1", "unknown")])
def test_another_version_is_rejected_with_what_to_do(version: object, words: str) -> None:
    values = to_json(stable_diffusion())
    values["format"]["version"] = version
    with pytest.raises(FileFormatError, match=words):
        from_json(values)


def test_a_file_that_is_not_there_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="No such file"):
        load(tmp_path / "none.json")
    with pytest.raises(FileFormatError, match="directory"):
        load(tmp_path)


def test_a_file_that_unpacks_to_too_much_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * 100_000))
    with pytest.raises(FileFormatError, match="larger than 1,000 bytes"):
        load(path, most_bytes=1_000)


def test_a_value_that_json_cannot_hold_is_rejected_before_anything_is_written(tmp_path: Path) -> None:
    profile = stable_diffusion()
    profile.request.arguments["image"] = object()  # type: ignore[index]
    with pytest.raises(FileFormatError, match=r"arguments\.image"):
        profile.save(tmp_path / "p.json")
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_place_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="No such file"):
        stable_diffusion().save(tmp_path / "none" / "p.json")
    with pytest.raises(OutputError, match="folder"):
        stable_diffusion().save(tmp_path)


def test_a_file_of_version_2_is_read_without_what_came_later() -> None:
    profile = load(Path(__file__).parent / "data" / "sd-2.1-base.v2.json.gz")

    assert profile.components["unet"].macs == 3 * 804_257_464_320
    assert profile.components["unet"].weight_bytes_by_dtype == {}
    assert to_json(profile)["format"]["version"] == FORMAT_VERSION


@pytest.mark.parametrize("kind", [Advice, Fit, Prediction])
def test_answers_of_other_commands_say_what_they_are(kind: type[Result]) -> None:
    with pytest.raises(FileFormatError, match="not a profile; print it with `diffprof show`") as raised:
        from_json({"format": {"name": kind.format_name, "version": 1}})
    assert kind.command == f"diffprof {raised.value.answer_of} MODEL"
