"""Programs with diffusers: their calls are those of the profile, and have what the pipeline needs."""

from __future__ import annotations

from dataclasses import replace

import pytest

import diffprof
from diffprof.advice.code import program
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings
from tests.sample_profiles import stable_diffusion


def call_of(profile: Profile, request: Request) -> str:
    """The line that generates."""
    return next(line for line in program(profile, request, RunSettings()) if line.startswith("result = "))


def test_a_model_is_called_as_it_is_recommended() -> None:
    turbo = diffprof.profile("sdxl-turbo")
    assert call_of(turbo, Request("sdxl-turbo", {})) == (
        'result = pipe(prompt="a cat", num_inference_steps=1, guidance_scale=0.0, height=512, width=512)'
    )


def test_what_was_asked_for_goes_before_what_is_recommended() -> None:
    turbo = diffprof.profile("sdxl-turbo")
    assert "num_inference_steps=4, " in call_of(turbo, Request("sdxl-turbo", {"num_inference_steps": 4}))


def profile_of(model: str, **defaults: object) -> Profile:
    profile = stable_diffusion()
    return replace(profile, request=replace(profile.request, model=model, recommended=(), defaults=defaults))


@pytest.mark.parametrize(
    ("model", "defaults", "inputs"),
    [
        ("sd-x4-upscaler", {"image": None}, ["image"]),
        ("flux.1-depth-dev", {}, ["control_image"]),
        ("sd-1.5-controlnet-canny", {"image": None}, ["image"]),
        ("sd-1.5-inpainting", {"image": None, "mask_image": None}, ["image", "mask_image"]),
        ("sd-1.5", {}, []),
    ],
)
def test_a_program_loads_the_pictures_that_its_pipeline_needs(
    model: str, defaults: dict[str, object], inputs: list[str]
) -> None:
    lines = program(profile_of(model, **defaults), Request(model, {}), RunSettings())
    compile("\n".join(lines), "program", "exec")
    assert [line for line in lines if "load_image(" in line] == [
        f'{name} = load_image("{name}.png")' for name in inputs
    ]
    assert ("from diffusers.utils import load_image" in lines) == bool(inputs)
    assert all(f"{name}={name}" in lines[-1] for name in inputs)


def code(model: str, settings: RunSettings) -> str:
    profile = diffprof.profile(model)
    return "\n".join(program(profile, Request.create(model), settings))


def test_the_prompt_is_encoded_before_the_text_encoders_are_deleted() -> None:
    lines = code("flux.1-dev", RunSettings(drop_text_encoders=True)).splitlines()
    places = [
        next(number for number, line in enumerate(lines) if part in line)
        for part in (
            'pipe.text_encoder.to("cuda")',
            "encode_prompt",
            "text_encoder_2 = None",
            'pipe.to("cuda")',
            "pipe(",
        )
    ]
    assert places == sorted(places)


def test_what_is_offloaded_is_moved_to_the_device_by_nothing_else() -> None:
    lines = code("flux.1-dev", RunSettings(offload="model", drop_text_encoders=True))
    assert "enable_model_cpu_offload" in lines and "encode_prompt" in lines
    assert '.to("cuda")' not in lines


@pytest.mark.parametrize("offload", ["none", "group-leaf"])
def test_where_it_is_not_known_what_encoding_gives_a_comment_says_what_to_do(offload: str) -> None:
    lines = code("cosmos-predict2.5-14b", RunSettings(offload=offload, drop_text_encoders=True))
    assert "# the results of Cosmos2_5_PredictBasePipeline.encode_prompt are arguments of the call" in lines
    assert ('pipe.to("cuda")' in lines) == (offload == "none")
    compile(lines, "program.py", "exec")
