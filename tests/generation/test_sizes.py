"""Sizes that a model cannot make or that do not fit, with a model that is only a formula."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch

from diffprof.errors import DiffprofError, PipelineError, RequestError
from diffprof.generation import sizes
from diffprof.generation.sizes import Trial, check_size, out_of_memory_error, refuse_bad_size
from diffprof.record.profile import Profile
from tests.sample_profiles import stable_diffusion

GB = 10**9


@dataclass(frozen=True)
class Model(Trial):
    """Makes multiples of 16, refuses odd sides, and needs 1 GB for 512 x 512 beside its weights."""

    def count(self) -> Profile:
        width, height = (side or 512 for side in self.size)
        if width % 2 or height % 2:
            raise PipelineError("sides have to be even.")
        profile = stable_diffusion(unet_calls=1)
        made = {"width": width // 16 * 16, "height": height // 16 * 16}
        parts = {
            slot: replace(part, peak_live_bytes=GB * width * height // 512**2)
            for slot, part in profile.components.items()
        }
        return replace(profile, request=replace(profile.request, arguments=made), components=parts)


def trial(width: int | None = None, height: int | None = None, **fields: Any) -> Model:
    given = {name: side for name, side in (("width", width), ("height", height)) if side is not None}
    return Model(None, "Small", given, torch.device("cpu"), **fields)


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "free_bytes", lambda device: 2 * GB)


def test_a_size_that_works_is_not_refused() -> None:
    check_size(trial(512, 512))
    check_size(trial())


def test_a_size_that_the_pipeline_would_change_is_refused_with_the_nearest() -> None:
    with pytest.raises(RequestError, match=r"Small cannot generate 516x512 \(it would .*\); the nearest .* 512x512"):
        check_size(trial(516, 512))


def test_a_size_that_the_pipeline_refuses_is_refused_with_its_reason() -> None:
    with pytest.raises(
        RequestError, match=r"511x512 \(sides have to be even\); the nearest size that works is 512x512"
    ):
        check_size(trial(511, 512))


def test_a_size_that_works_is_not_blamed() -> None:
    refuse_bad_size(trial(512, 512), "something else")
    refuse_bad_size(trial(), "something else")


def test_what_does_not_fit_is_refused_with_what_would() -> None:
    with pytest.raises(
        DiffprofError, match=r"needs about 4\.00 GB for 1024x1024, and 2\.00 GB are free on cpu"
    ) as refused:
        check_size(trial(1024, 1024))
    assert str(refused.value).endswith("512x512 would fit, it needs about 1.00 GB")


def test_weights_that_are_still_to_come_are_counted() -> None:
    counted = trial(512, 512).count()
    assert trial(512, 512).needed_bytes(counted) == GB
    assert trial(512, 512, loads_weights=True).needed_bytes(counted) == GB + counted.total.weight_bytes


def test_a_call_that_ran_out_of_memory_says_what_would_fit() -> None:
    assert str(out_of_memory_error(trial(1024, 512), "no block")) == (
        "Small ran out of memory on cpu at 1024x512, for which it needs about 2.00 GB, and 2.00 GB are free now; "
        "512x256 would fit, it needs about 500.00 MB"
    )
    assert "(no block); use a smaller size" in str(out_of_memory_error(trial(511, 512), "no block"))


def test_where_nothing_smaller_helps_another_model_may() -> None:
    assert str(out_of_memory_error(trial(64, 64), "")).endswith("a smaller dtype or a smaller model may fit")
