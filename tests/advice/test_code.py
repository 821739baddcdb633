"""Programs with diffusers: their calls are those of the profile, and have what the pipeline needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import diffprof
from diffprof.advice.code import program
from diffprof.record.changes import Changes
from diffprof.record.inputs import ImageSize
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


def lines_for(model: str, settings: RunSettings | None = None, **request: Any) -> list[str]:
    """The program for a model that is not counted for it; its profile is that of a small sample."""
    profile = profile_of(model)
    if request.get("scheduler"):
        profile = replace(profile, request=replace(profile.request, scheduler=request["scheduler"]))
    lines = list(program(profile, Request(model, **{"arguments": {}, **request}), settings or RunSettings()))
    compile("\n".join(lines), "program", "exec")
    return lines


def test_a_scheduler_has_the_name_of_its_class_however_it_was_asked_for() -> None:
    own = profile_of("sd-1.5").steps.main
    assert own is not None
    assert f"pipe.scheduler = {own.scheduler}.from_config(pipe.scheduler.config)" in lines_for("sd-1.5", scheduler="x")


def test_freeu_has_the_factors_with_which_it_is_counted() -> None:
    assert "pipe.enable_freeu(s1=0.9, s2=0.2, b1=1.2, b2=1.4)" in lines_for("sd-1.5", enable=("freeu", "vae_tiling"))


def test_adapters_are_loaded() -> None:
    changes = Changes(lora=("16", "style.safetensors"), ip_adapter="plus")
    lines = lines_for("sd-1.5", changes=changes)
    assert 'pipe.load_lora_weights("lora.safetensors", adapter_name="lora_1")  # of rank 16' in lines
    assert 'pipe.load_lora_weights("style.safetensors", adapter_name="lora_2")' in lines
    assert 'pipe.set_adapters(["lora_1", "lora_2"])' in lines
    assert any("ip-adapter-plus_sd15.bin" in line for line in lines)
    assert lines[-1].endswith("ip_adapter_image=ip_adapter_image)")


def test_a_controlnet_is_loaded_on_its_own() -> None:
    profile = diffprof.profile("sd-1.5-controlnet-canny")
    lines = program(profile, Request("sd-1.5-controlnet-canny"), RunSettings())
    net = (
        'controlnet = ControlNetModel.from_pretrained("lllyasviel/control_v11p_sd15_canny", torch_dtype=torch.float16)'
    )
    assert net in lines
    assert any("stable-diffusion-v1-5" in line and "controlnet=controlnet" in line for line in lines)


def test_packed_files_are_loaded_as_files() -> None:
    lines = code("flux.1-dev", RunSettings(quantize={"transformer": "gguf:Q4_K"}))
    assert "transformer = FluxTransformer2DModel.from_single_file(" in lines and "transformer-Q4_K.gguf" in lines
    assert "transformer=transformer" in lines and "PipelineQuantizationConfig" not in lines


def test_images_of_a_size_are_loaded_and_resized() -> None:
    lines = lines_for("sd-1.5-inpainting", arguments={"image": ImageSize(640, 512), "mask_image": ImageSize(640, 512)})
    assert 'image = load_image("image.png").resize((640, 512))' in lines
    assert lines[-1].endswith("image=image, mask_image=mask_image)")


def test_what_a_call_requires_is_given() -> None:
    assert "class_labels=[207]" in code("dit-xl-2-256", RunSettings())


def test_a_guidance_that_no_callback_can_switch_is_a_comment() -> None:
    lines = lines_for("sd-1.5", changes=Changes(guidance_interval=(0.2, 0.8)))
    assert "# guidance from 20% to 80% of the steps: StableDiffusionPipeline has no option for it" in lines
    assert "callback" not in lines[-1]


def test_the_built_in_model_is_loaded_from_its_folder() -> None:
    lines = code("shapes", RunSettings())
    assert "from diffprof.catalogue.bundled_model import shapes_folder" in lines
    assert "from_pretrained(shapes_folder(), torch_dtype" in lines


def test_the_place_of_a_live_pipeline_is_left_open() -> None:
    assert any('from_pretrained("FOLDER OR HUB ID"' in line for line in lines_for("StableDiffusionPipeline"))


def test_weights_that_are_quantized_on_the_device_are_loaded_when_the_text_encoders_are_gone() -> None:
    settings = RunSettings.create(quantize={"transformer": "nf4", "text_encoder_2": "int8"})
    lines = code("flux.1-dev", replace(settings, drop_text_encoders=True)).splitlines()
    early, late = (number for number, line in enumerate(lines) if line.startswith("pipe = "))
    assert "transformer=None" in lines[early] and "text_encoder=None, text_encoder_2=None" in lines[late]
    assert early < lines.index("del pipe") < lines.index("torch.cuda.empty_cache()") < late
    configured = [number for number, line in enumerate(lines) if line.startswith('    "')]
    assert [lines[number].strip().partition('"')[2].partition('"')[0] for number in configured] == [
        "text_encoder_2", "transformer",
    ]  # fmt: skip
    assert configured[0] < early < configured[1] < late
    assert lines[-2] == 'pipe.to("cuda")' and lines[-1].startswith("result = pipe(prompt_embeds=")


def test_weights_that_are_quantized_on_the_host_are_loaded_at_once() -> None:
    settings = replace(RunSettings.create(quantize={"transformer": "int8"}), drop_text_encoders=True)
    settings = replace(settings, quantize={"transformer": "torchao:int8"})
    assert code("flux.1-dev", settings).count("pipe = ") == 1


@pytest.mark.parametrize(("dtype", "excluded"), [("float16", True), ("bfloat16", False)])
def test_a_stream_offloads_nothing_that_the_pipeline_casts(dtype: str, excluded: bool) -> None:
    profile = diffprof.profile("sdxl", dtype=dtype, num_inference_steps=1)
    lines = program(profile, Request("sdxl", {}, dtype=dtype), RunSettings(offload="group-leaf"))
    line = next(line for line in lines if "enable_group_offload" in line)
    assert ('exclude_modules=["vae"]' in line) is excluded


def test_an_image_that_is_a_stand_in_and_needed_is_loaded_once() -> None:
    request = Request.create("sdxl", {"num_inference_steps": 1}, ip_adapter="base")
    profile = diffprof.profile("sdxl", num_inference_steps=1, ip_adapter="base")
    lines = program(profile, request, RunSettings())
    assert sum(line.startswith("ip_adapter_image = ") for line in lines) == 1
