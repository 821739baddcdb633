"""Options of fit, predict and advise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diffprof.cli.running_options import (
    PredictedOptions,
    ResultOptions,
    RunningOptions,
    answer_of,
    open_model,
    parse_prices,
)
from diffprof.errors import DiffprofError, RequestError
from diffprof.record.run_settings import RunSettings
from tests.advice.views.answers import FIT
from tests.sample_profiles import stable_diffusion


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


def test_a_file_whose_ending_means_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="Cannot tell the format of"):
        ResultOptions(file=tmp_path / "fit.xlsx").check()
    with pytest.raises(DiffprofError):
        ResultOptions(file=tmp_path / "none" / "fit.json").check()


def test_the_ending_decides_what_is_written(tmp_path: Path) -> None:
    for ending, content in ((".csv", "as csv"), (".md", "as markdown"), (".json", FIT.to_json())):
        file = tmp_path / f"fit{ending}"
        answer = answer_of(FIT, lambda: "as csv", lambda: "as markdown", lambda console: None)
        ResultOptions(file=file, quiet=True).write(answer)
        assert file.read_text() == content


def test_a_saved_profile_has_a_request_of_its_own(tmp_path: Path) -> None:
    file = str(stable_diffusion().save(tmp_path / "p.json"))
    assert open_model(file, PredictedOptions(), quiet=True).profile == stable_diffusion()
    with pytest.raises(RequestError, match="is a saved profile with its own request; leave out --height"):
        open_model(file, PredictedOptions(height="512"), quiet=True)
