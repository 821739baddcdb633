"""Single requests that are kept as they were counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.counting.derivation.recorded_requests import record_requests
from diffprof.counting.derivation.sampling import Sampler
from diffprof.laws.law_file import read_law, write_law
from diffprof.laws.packing import NoLaw
from diffprof.laws.programs import OutsideOfLaw
from diffprof.laws.variation import Variation
from diffprof.record.request import Request
from tests.pipelines.folders import saved


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(saved("stable-diffusion", tmp_path_factory.mktemp("tiny")))


def test_requests_with_switches_are_kept_each_by_itself(folder: str, tmp_path: Path) -> None:
    steps = {"num_inference_steps": 3}
    asked = [
        Request.create(folder, steps, enable="vae_tiling"),
        Request.create(folder, steps, guidance_interval=(0.0, 0.5)),
        Request.create(folder, steps, enable="no_such_switch"),
    ]
    write_law(record_requests(folder, asked), tmp_path / "kept.law")
    law = read_law(tmp_path / "kept.law")
    assert [domain.variation for domain in law.domains] == [
        Variation(("vae_tiling",)),
        Variation(guidance_interval=(0.0, 0.5)),
    ]
    sample = Sampler(folder).run(steps, variation=Variation(("vae_tiling",)))
    assert law.profile(sample.request) == sample.profile
    for other in (
        Request.create(folder, steps),
        Request.create(folder, {"num_inference_steps": 4}, enable="vae_tiling"),
    ):
        with pytest.raises(OutsideOfLaw):
            law.profile(other)


def test_requests_that_the_pipeline_accepts_none_of_are_no_law(folder: str) -> None:
    with pytest.raises(NoLaw, match="accepts none"):
        record_requests(folder, [Request.create(folder, {}, enable="no_such_switch")])
