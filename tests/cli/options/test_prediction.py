"""Options of fit, predict and advise."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.cli.options.prediction import RunningOptions, parse_prices
from diffprof.errors import RequestError
from diffprof.record.run_settings import RunSettings


def test_options_become_settings() -> None:
    options = RunningOptions(
        offload="group", no_stream=True, blocks_per_group="2", quantize=["unet=nf4"], devices="4", skip_rate="0.3",
        without=["a", "a"],
    )  # fmt: skip
    assert options.run_settings() == RunSettings(
        offload="group", use_stream=False, blocks_per_group=2, quantize={"unet": "bitsandbytes:nf4"}, devices=4,
        skip_rate=0.3, without=("a",),
    )  # fmt: skip
    assert RunningOptions().run_settings() == RunSettings()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"devices": "0"}, "--devices must be a whole number from 1 to 10,000, not '0'"),
        ({"devices": "1.5"}, "--devices must be a whole number"),
        ({"devices": "٣"}, "--devices must be a whole number"),
        ({"devices": "9" * 5000}, "--devices must be a whole number"),
        ({"blocks_per_group": "10001"}, "--blocks-per-group must be"),
        ({"attention": "flash"}, "Unknown attention 'flash'; use sdpa or math"),
        ({"skip_rate": "much"}, "--skip-rate"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        RunningOptions(**options).run_settings()


def test_prices_are_of_one_accelerator_or_of_each() -> None:
    assert parse_prices(["0.5", "l4=0.8", "a=b=1"]) == {"": 0.5, "l4": 0.8, "a=b": 1.0}
    assert parse_prices(None) == {}
    with pytest.raises(RequestError, match="--price"):
        parse_prices(["l4=cheap"])
