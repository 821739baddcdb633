"""Advice: options that are tried on the record, and figures that `fit` and `predict` give again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import diffprof
from diffprof.advice.advise import AdviceRequest, advise_source
from diffprof.advice.sources import Source, open_source
from diffprof.errors import RequestError
from diffprof.record.advice import GOALS, RISKS, Advice, Option
from tests.cli.conftest import Run
from tests.cli.conftest import run as run
from tests.prediction.samples import FILE as OLD_FILE
from tests.small_pipelines import SMALL_PIPELINES

GIB = 1024**3


@pytest.fixture(scope="module")
def source() -> Source:
    return open_source("sd-2.1-base", {"num_inference_steps": 25})


@pytest.fixture(scope="module")
def advice(source: Source) -> Advice:
    return advise_source(source, AdviceRequest("t4", usd_per_hour=0.5))


@pytest.fixture(scope="module")
def small_source() -> Source:
    small = SMALL_PIPELINES["stable-diffusion"]
    return open_source(small.build(), small.arguments())


def test_options_are_ranked_by_the_goal(small_source: Source) -> None:
    values = {
        goal: [_value(option, goal) for option in advise_source(small_source, AdviceRequest("t4", goal)).options]
        for goal in GOALS
    }
    assert all(len(found) > 1 and found == sorted(found) for found in values.values())


def _value(option: Option, goal: str) -> float:
    devices = option.settings.devices
    return {
        "time": option.seconds,
        "memory": option.peak.device_bytes,
        "cost": option.seconds * devices,
        "energy": (option.energy_joules or 0) / option.results,
    }[goal]


def test_no_option_is_beaten_in_time_and_memory_by_one_of_the_same_risk(advice: Advice) -> None:
    assert len(advice.options) > 1
    for one in advice.options:
        for other in advice.options:
            is_safer = RISKS.index(other.risk) <= RISKS.index(one.risk)
            if other is not one and is_safer and other.settings.devices <= one.settings.devices:
                assert not (other.seconds < one.seconds and other.peak.device_bytes < one.peak.device_bytes)


def test_each_figure_is_said_again_by_the_commands(advice: Advice, run: Run) -> None:
    """Of an option of each kind: the commands are run, and print the same numbers."""
    kinds = {option.changes[-1] if option.changes else "": option for option in advice.options}
    for option in list(kinds.values())[:6]:
        fitted = json.loads(run(*shlex.split(option.fit_command)[1:], "--json").out)
        assert fitted["peak"]["device_bytes"] == option.peak.device_bytes
        assert (fitted["fits"], fitted["host"]["peak_bytes"]) == (True, option.host.peak_bytes)
        predicted = json.loads(run(*shlex.split(option.predict_command)[1:], "--json").out)["accelerators"]["t4"]
        for name in ("total_seconds", "low_seconds", "high_seconds", "energy_joules", "price_usd", "fits"):
            assert predicted[name] == getattr(option, name)


def test_many_kinds_of_options_are_tried(advice: Advice) -> None:
    names = {name for option in advice.options for name in option.changes}
    assert advice.tried > 50
    assert {"compile", "20 steps of DPMSolverMultistepScheduler"} <= names
    assert any(option.model != "sd-2.1-base" and option.risk == "high" for option in advice.options)
    assert all(option.code and option.on_front and option.fits for option in advice.options)


def test_limits_leave_out_what_passes_them(source: Source) -> None:
    limited = advise_source(source, AdviceRequest("t4", max_memory_bytes=3 * GIB, max_seconds=10.0))
    assert limited.options
    assert all(option.peak.device_bytes <= 3 * GIB for option in limited.options)
    assert all(option.total_seconds <= 10 for option in limited.options)


def test_where_nothing_is_within_the_limits_that_is_said(small_source: Source) -> None:
    advice = advise_source(small_source, AdviceRequest("t4", max_seconds=1e-6))
    assert "none of them fits" in str(advice)
    smallest, fastest = advice.nearest
    assert smallest.peak.device_bytes <= fastest.peak.device_bytes
    assert 1e-6 < fastest.seconds < smallest.seconds
    assert f"smallest of all: {smallest.name}" in str(advice)


def test_a_live_pipeline_and_its_file_are_advised_alike(tmp_path: Path) -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    live = diffprof.advise(small.build(), gpu="t4", goal="memory", **small.arguments())
    file = diffprof.profile(small.build(), **small.arguments()).save(tmp_path / "small.json")
    saved = diffprof.advise(str(file), gpu="t4", goal="memory")
    assert (live.requested.peak, live.requested.seconds) == (saved.requested.peak, saved.requested.seconds)
    assert live.options and saved.options


def test_advice_is_saved_and_read_again(advice: Advice, tmp_path: Path) -> None:
    assert Advice.load(advice.save(tmp_path / "advice.json")) == advice
    assert "Time against memory" in advice.report(tmp_path / "advice.html").read_text(encoding="utf-8")
    assert "as requested" in str(advice) and advice._repr_html_()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpu": "t5"}, "Unknown accelerator 't5'"),
        ({"gpu": "t4,l4"}, "Advice is for one accelerator"),
        ({"gpu": "t4", "goal": "beauty"}, "Unknown goal 'beauty'; use one of time, memory, cost, energy"),
        ({"gpu": "t4", "max_time": -1.0}, "longest time"),
        ({"gpu": "t4", "max_memory": "little"}, "an amount of memory"),
        ({"gpu": "t4", "offload": "disk"}, "Unknown offload mode"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        diffprof.advise("shapes", **options)  # type: ignore[arg-type]


def test_a_profile_of_an_earlier_version_is_refused() -> None:
    with pytest.raises(RequestError, match="count the model again"):
        diffprof.advise(OLD_FILE, gpu="t4")
