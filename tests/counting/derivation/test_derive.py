"""Laws of small pipelines: found from dry runs, and equal to others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diffprof.counting.derivation import steps
from diffprof.counting.derivation.derive import derive_law
from diffprof.counting.derivation.ranges import Reach
from diffprof.counting.derivation.sampling import Sampler
from diffprof.errors import FileFormatError
from diffprof.laws.fitting import Fitter
from diffprof.laws.law import Law
from diffprof.laws.law_file import read_law, write_law
from diffprof.laws.packing import FittedProgram, NoLaw, fit_program, pack_programs
from diffprof.laws.profiles import GivenCall, compose_profile
from diffprof.laws.programs import OutsideOfLaw
from diffprof.record.document import encode_profile
from tests.pipelines.folders import saved


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved("stable-diffusion", tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def law(folder: Path) -> Law:
    return derive_law(str(folder), prove=1, reach=Reach.sizes).law


def test_a_program_of_one_sample_is_that_sample(folder: Path) -> None:
    sample = Sampler(str(folder)).run({"height": 64, "width": 96, "num_inference_steps": 4})
    (program,) = pack_programs([fit_program([sample.values], Fitter([{}], {}, []))])
    environment = sample.profile.environment
    versions = {name: getattr(environment, name) for name in ("torch", "diffusers", "transformers")}
    given = GivenCall(sample.profile.request.arguments, sample.request.recommended, versions)
    profile = compose_profile(program.at({}), given)
    assert profile == sample.profile
    assert encode_profile(replace(profile, counted_by="dry run")) == encode_profile(sample.profile)


@pytest.mark.parametrize(
    "arguments",
    [
        {"height": 512, "width": 512},
        {},
        {"height": 1000, "width": 344, "num_inference_steps": 3},
        {"height": 264, "width": 1040, "num_inference_steps": 33, "guidance_scale": 3.0},
    ],
)
def test_a_law_says_what_a_dry_run_says(law: Law, folder: Path, arguments: dict[str, float]) -> None:
    sample = Sampler(str(folder)).run(arguments)
    profile = law.profile(sample.request)
    assert profile == sample.profile
    assert profile.counted_by == "law"
    assert encode_profile(replace(profile, counted_by="dry run")) == encode_profile(sample.profile)


def test_a_law_in_a_file_is_the_same_law(law: Law, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "tiny.law"
    write_law(law, path)
    request = Sampler(str(folder)).run({"height": 576, "width": 320}).request
    assert read_law(path).profile(request) == law.profile(request)


def test_a_law_file_that_was_changed_is_refused(law: Law, tmp_path: Path) -> None:
    path = tmp_path / "tiny.law"
    write_law(law, path)
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match="checksum does not match"):
        read_law(path)


def test_requests_that_were_not_proved_are_refused(law: Law, folder: Path) -> None:
    request = Sampler(str(folder)).run({"height": 72, "width": 72}).request
    with pytest.raises(OutsideOfLaw, match=r"was proved for height of .*256 to 2,048 in steps of 8.*, not for 72"):
        law.profile(request)
    with pytest.raises(OutsideOfLaw, match="eta"):
        law.profile(request.with_arguments({"height": 512, "width": 512, "eta": 1.0}))


def test_where_steps_follow_no_law_each_number_of_them_has_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit_one_number_of_steps(samples: Sequence[Any], fitter: Fitter) -> FittedProgram:
        if len({sample.get("num_inference_steps", 0) for sample in fitter.samples}) > 1:
            raise NoLaw("a number follows no polynomial")
        return fit_program(samples, fitter)

    monkeypatch.setattr(steps, "fit_program", fit_one_number_of_steps)
    monkeypatch.setattr(steps, "SINGLE_STEPS", (2, 4))
    law = derive_law(str(folder), prove=1, reach=Reach.default_size).law
    assert law.proved_values()["num_inference_steps"] == ["2", "4", "50"]
    sample = Sampler(str(folder)).run({"num_inference_steps": 4})
    assert law.profile(sample.request) == sample.profile
    with pytest.raises(OutsideOfLaw, match="num_inference_steps of 2 or 4 or 50, not for 3"):
        law.profile(sample.request.with_arguments({"num_inference_steps": 3}))
