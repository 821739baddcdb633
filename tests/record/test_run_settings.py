"""How a pipeline is run: settings from what a user gives, checked once for every door."""

from __future__ import annotations

import re
from typing import Any

import pytest

from diffprof.errors import RequestError
from diffprof.record.changes import EVERY
from diffprof.record.run_settings import RunSettings


def test_one_name_is_a_list_of_one_and_the_same_name_counts_once() -> None:
    assert RunSettings.create(without="safety_checker").without == ("safety_checker",)
    assert RunSettings.create(without=["vae", "vae"]).without == ("vae",)
    assert RunSettings.create() == RunSettings()


def test_a_kind_without_a_component_is_for_every_component() -> None:
    settings = RunSettings.create(quantize="nf4", layerwise={"transformer": "fp8"}, offload="model")
    assert settings.quantize == {EVERY: "bitsandbytes:nf4"}
    assert settings.layerwise == {"transformer": "float8_e4m3fn"}
    assert settings.offload == "model"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"offload": "disk"}, "Unknown offload mode 'disk'"),
        ({"attention": "flash"}, "Unknown attention 'flash'"),
        ({"devices": 0}, "must be 1 or more"),
        ({"use_stream": False}, "leave out --no-stream"),
        ({"blocks_per_group": 2}, "leave out --blocks-per-group"),
        ({"skip_rate": 1.0}, "from 0 to below 1, not 1"),
    ],
)
def test_what_no_pipeline_can_be_run_with_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        RunSettings(**settings).check()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"devices": "2"}, "devices must be a whole number, not '2'."),
        ({"devices": True}, "devices must be a whole number, not True."),
        ({"blocks_per_group": 1.5}, "blocks_per_group must be a whole number, not 1.5."),
        ({"skip_rate": "a"}, "skip_rate must be a number, not 'a'."),
        ({"compiled": "yes"}, "compile must be True or False, not 'yes'."),
        ({"drop_text_encoders": 1}, "drop_text_encoders must be True or False, not 1."),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestError, match=re.escape(sentence)):
        RunSettings(**settings).check()


@pytest.mark.parametrize("without", [3, [3]])
def test_what_is_left_out_are_names(without: Any) -> None:
    with pytest.raises(RequestError, match="without takes names of components"):
        RunSettings.create(without=without)
