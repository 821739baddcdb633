"""One weight file is opened from its header: the architecture is found, the counts are those of the file."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy
import pytest
import torch
from diffusers import StableDiffusionPipeline
from safetensors.torch import load_file, save_file

import diffprof
from diffprof.catalogue import find
from diffprof.errors import RequestError
from diffprof.pipelines.components import components_of
from diffprof.pipelines.loading.weights import load_pipeline
from diffprof.pipelines.opening import open_virtual
from diffprof.pipelines.plans.source import blueprint_of
from tests.counting.real_run import real_run
from tests.pipelines.folders import saved
from tests.pipelines.loadable import UNET, generate_small, saved_with_weights
from tests.pipelines.original_layout import checkpoint
from tests.pipelines.weight_headers import write_shapes
from tests.small_pipelines import SMALL_PIPELINES

VAE = "vae/diffusion_pytorch_model.safetensors"
CALL = {"prompt": "a cat", "num_inference_steps": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration of a small Stable Diffusion."""
    return saved("stable-diffusion", tmp_path_factory.mktemp("configuration"))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of a small Stable Diffusion in one file, as its first authors named the weights."""
    path = tmp_path_factory.mktemp("checkpoints") / "all.safetensors"
    save_file(checkpoint(SMALL_PIPELINES["stable-diffusion"].build().to(torch.float32)), path)
    return path


def test_a_checkpoint_costs_what_a_real_run_of_it_costs(file: Path, folder: Path) -> None:
    pipeline = StableDiffusionPipeline.from_single_file(str(file), config=str(folder), local_files_only=True)
    pipeline.set_progress_bar_config(disable=True)
    real = real_run(pipeline, components_of(pipeline), {"forward", "encode", "decode"}, CALL)
    profile = diffprof.profile(file, config=str(folder), **CALL)
    assert [(call.component, call.method, call.macs) for call in profile.calls if call.macs] == real.calls
    for slot, component in components_of(pipeline).items():
        parameters = sum(weight.numel() for weight in component.parameters())
        assert profile.components[slot].parameters == parameters
        assert profile.components[slot].weight_bytes_by_dtype == {"float32": 4 * parameters}
    assert profile.request.source == "file"


def test_bytes_and_dtypes_are_those_of_the_header(folder: Path, tmp_path: Path) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    tensors = checkpoint(pipeline)
    mixed = {
        name: weight.to(torch.float8_e4m3fn if name.startswith("model.diffusion_model.middle") else torch.float16)
        for name, weight in tensors.items()
    }
    save_file(mixed, tmp_path / "mixed.safetensors")
    profile = diffprof.profile(tmp_path / "mixed.safetensors", config=str(folder), **CALL)
    eight = sum(weight.numel() for weight in mixed.values() if weight.dtype == torch.float8_e4m3fn)
    unet = profile.components["unet"]
    assert unet.weight_bytes_by_dtype == {"float16": 2 * (unet.parameters - eight), "float8_e4m3fn": eight}
    assert unet.weight_bytes == 2 * unet.parameters - eight
    assert profile.request.dtype == "float16"
    cast = diffprof.profile(tmp_path / "mixed.safetensors", config=str(folder), dtype="float32", **CALL)
    assert cast.components["unet"].weight_bytes == 4 * unet.parameters, "loading in a dtype casts what is stored"


def shapes_of(model: str, slot: str) -> dict[str, tuple[int, ...]]:
    weights = getattr(open_virtual(model, None, None).pipeline, slot).state_dict()
    return {name: tuple(weight.shape) for name, weight in weights.items()}


def test_a_file_of_the_unet_alone_is_recognized_by_its_weights(tmp_path: Path) -> None:
    file = write_shapes(tmp_path / "unet.safetensors", shapes_of("sd-1.5", "unet"))
    profile = diffprof.profile(file, num_inference_steps=1, height=64, width=64)
    entry = find("sd-1.5")
    assert entry is not None
    assert profile.components["unet"].parameters == entry.components["unet"].parameters == 859_520_964
    assert profile.components["unet"].weight_bytes_by_dtype == {"float16": 2 * 859_520_964}
    assert profile.request.pipeline == "StableDiffusionPipeline"
    assert "safety_checker" not in profile.components, "diffusers loads none with a single file"
    said = [text for text in profile.ledger.assumptions if "unet.safetensors" in text]
    assert said[0].startswith("unet.safetensors was opened as sd-1.5, which has exactly its 859,520,964 weights")
    assert said[1] == "unet.safetensors does not hold vae, text_encoder: taken from sd-1.5"


def test_weights_in_a_component_folder_belong_to_the_pipeline_around_it(tmp_path: Path) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    saved("stable-diffusion", tmp_path)
    save_file(pipeline.vae.state_dict(), tmp_path / "vae" / "other.safetensors")
    profile = diffprof.profile(tmp_path / "vae" / "other.safetensors", **CALL)
    whole = diffprof.profile(pipeline, **CALL)
    assert profile.total.macs == whole.total.macs
    assert profile.components["vae"].weight_bytes == whole.components["vae"].weight_bytes


def write_gguf(file: Path, tensors: dict[str, torch.Tensor]) -> None:
    """Weights of two dimensions packed, where rows are whole blocks; all others in full."""
    writer = gguf.GGUFWriter(file, "sd1")
    for name, weight in tensors.items():
        values = weight.float().numpy()
        if weight.ndim == 2 and weight.shape[-1] % 32 == 0:
            packed = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(values, packed), raw_dtype=packed)
        else:
            writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_gguf_has_the_macs_of_the_layers_and_the_bytes_of_the_blocks(folder: Path, tmp_path: Path) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    tensors = checkpoint(pipeline)
    unet = {name: weight for name, weight in tensors.items() if name.startswith("model.diffusion_model.")}
    write_gguf(tmp_path / "unet.gguf", unet)
    profile = diffprof.profile(tmp_path / "unet.gguf", config=str(folder), dtype="float32", **CALL)
    whole = diffprof.profile(pipeline, **CALL)
    packed = sum(weight.numel() for weight in unet.values() if weight.ndim == 2 and weight.shape[-1] % 32 == 0)
    counted = profile.components["unet"]
    assert packed
    assert counted.macs == whole.components["unet"].macs
    assert counted.parameters == whole.components["unet"].parameters
    assert counted.weight_bytes_by_dtype == {"Q8_0": packed // 32 * 34, "float32": 4 * (counted.parameters - packed)}


def test_layers_of_a_gguf_file_read_packed_bytes_as_in_a_live_pipeline(tmp_path: Path) -> None:
    whole = saved_with_weights("stable-diffusion", tmp_path / "whole")
    tensors = checkpoint(SMALL_PIPELINES["stable-diffusion"].build())
    unet = {name: weight for name, weight in tensors.items() if name.startswith("model.diffusion_model.")}
    write_gguf(tmp_path / "unet.gguf", unet)
    counted = diffprof.profile(tmp_path / "unet.gguf", config=str(whole), dtype="float32", **CALL)
    live = load_pipeline(tmp_path / "unet.gguf", config=str(whole), device="cpu", dtype="float32").pipeline
    real = diffprof.profile(live, **CALL)
    assert counted.components["unet"].work == real.components["unet"].work
    plain = diffprof.profile(whole, **CALL).components["unet"].work
    assert counted.components["unet"].work.macs == plain.macs
    assert counted.components["unet"].work.read_bytes != plain.read_bytes


def test_an_unknown_architecture_is_described_with_the_nearest(tmp_path: Path) -> None:
    file = write_shapes(tmp_path / "strange.safetensors", {"strange.weight": (30_000, 28_650), "bias": (21_000,)})
    with pytest.raises(RequestError) as raised:
        diffprof.profile(file)
    assert "2 tensors such as bias with 859,521,000 elements; the nearest in size is the unet of sd-1.5" in str(
        raised.value
    )


@pytest.mark.parametrize(
    ("tensor", "sentence"),
    [
        ("unet.x.lora_A.weight", r"is a LoRA.*--lora"),
        ("ip_adapter.1.to_k_ip.weight", r"is an IP-Adapter.*--ip-adapter"),
        ("transformer_blocks.0.qkv_proj.wscales", r"is packed by Nunchaku"),
        ("emb_params", r"is an embedding for prompts"),
    ],
)
def test_what_is_no_model_is_refused_by_name(tensor: str, sentence: str, tmp_path: Path) -> None:
    file = write_shapes(tmp_path / "style.safetensors", {tensor: (4, 4)})
    with pytest.raises(RequestError, match=sentence):
        diffprof.profile(file)


def test_a_text_encoder_alone_belongs_to_a_pipeline_and_does_not_choose_its_dtype(tmp_path: Path) -> None:
    file = write_shapes(tmp_path / "clip_l.safetensors", shapes_of("sd-1.5", "text_encoder"), "F32")
    profile = diffprof.profile(file, num_inference_steps=1, height=64, width=64)
    assert profile.request.dtype == "float16"
    assert profile.components["text_encoder"].weight_bytes_by_dtype == {"float32": 4 * 123_060_480}


def test_weights_of_other_shapes_than_the_configuration_are_refused(file: Path, tmp_path: Path) -> None:
    other = saved("stable-diffusion-xl", tmp_path)
    with pytest.raises(RequestError, match=r"the weights of unet do not fit UNet2DConditionModel as it is configured"):
        diffprof.profile(file, config=str(other))


def test_a_part_of_another_version_has_the_configuration_of_the_model_with_one_of_its_size(tmp_path: Path) -> None:
    first, later = find("ltx-video"), find("ltx-video-13b")
    assert first is not None and later is not None
    sizes = [first.components["transformer"].parameters, later.components["vae"].parameters]
    names = {"model.diffusion_model.a": (sizes[0],), "vae.encoder.b": (sizes[1],)}
    plan = blueprint_of(write_shapes(tmp_path / "ltx.safetensors", names))
    assert plan.parts["transformer"].config == first.components["transformer"].config
    assert plan.parts["vae"].config == later.components["vae"].config
    assert any("vae in ltx.safetensors has the size of that of ltx-video-13b" in text for text in plan.assumptions)


@pytest.mark.parametrize(("name", "model"), [("z_image_bf16", "z-image"), ("z_image_turbo_bf16", "z-image-turbo")])
def test_of_models_that_are_nearly_as_large_the_one_that_the_name_speaks_of_is_taken(
    name: str, model: str, tmp_path: Path
) -> None:
    entry = find("z-image")
    assert entry is not None
    names = {"cap_embedder.0.weight": (2560,), "layers.0.adaLN_modulation.0.weight": (15360, 256)}
    rest = (entry.components["transformer"].parameters or 0) - 2560 - 15360 * 256 + 3840
    plan = blueprint_of(write_shapes(tmp_path / f"{name}.safetensors", {**names, "rest": (rest,)}))
    assert f"does not hold text_encoder, vae: taken from {model}" in "; ".join(plan.assumptions)


@pytest.mark.parametrize(("name", "slot"), [("high_noise", "transformer"), ("LowNoise", "transformer_2")])
def test_of_two_equal_denoisers_the_name_of_the_file_tells_which_it_is(name: str, slot: str, tmp_path: Path) -> None:
    entry = find("wan2.2-t2v-a14b")
    assert entry is not None
    names = {"blocks.0.a": (entry.components["transformer"].parameters,)}
    assert list(blueprint_of(write_shapes(tmp_path / f"wan2.2_t2v_{name}_14B.safetensors", names)).stored) == [slot]


def test_a_config_is_only_for_files(folder: Path) -> None:
    with pytest.raises(RequestError, match="--config is for weight files"):
        diffprof.profile(folder, config="sd-1.5")


@pytest.mark.parametrize("ending", ["ckpt", "bin", "pt", "pth"])
def test_pickles_are_refused_with_the_reason(ending: str, tmp_path: Path) -> None:
    pickle = tmp_path / f"model.{ending}"
    pickle.write_bytes(b"cos\nsystem\n(S'echo'\ntR.")
    with pytest.raises(RequestError, match="is a pickle, which can run code when it is read"):
        diffprof.profile(pickle)


def test_a_single_file_runs_as_diffusers_loads_it(file: Path, folder: Path) -> None:
    theirs = StableDiffusionPipeline.from_single_file(str(file), config=str(folder), local_files_only=True)
    loaded = load_pipeline(file, config=str(folder), device="cpu")
    assert (loaded.opened.source, loaded.opened.assumptions) == ("file", ())
    for slot, part in components_of(theirs).items():
        own = components_of(loaded.pipeline)[slot].state_dict()
        assert own.keys() == part.state_dict().keys()
        assert all(torch.equal(own[name], weight) for name, weight in part.state_dict().items())
    made = [generate_small("stable-diffusion", pipeline) for pipeline in (theirs, loaded.pipeline)]
    assert numpy.array_equal(*made)


def test_what_a_single_file_does_not_hold_is_loaded_from_the_folder(tmp_path: Path) -> None:
    whole = saved_with_weights("stable-diffusion", tmp_path / "whole")
    unet = {name: torch.full_like(weight, 0.5) for name, weight in load_file(whole / UNET).items()}
    save_file(unet, tmp_path / "unet.safetensors")
    pipeline = load_pipeline(tmp_path / "unet.safetensors", config=str(whole), device="cpu").pipeline
    assert bool((pipeline.unet.conv_in.weight == 0.5).all())
    assert torch.equal(pipeline.vae.decoder.conv_in.weight, load_file(whole / VAE)["decoder.conv_in.weight"])


def test_a_single_file_that_cannot_be_run_is_refused_before_loading(file: Path, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"has no tokenizer; name the folder .* with --config"):
        load_pipeline(write_shapes(tmp_path / "unet.safetensors", shapes_of("sd-1.5", "unet"), "F16"))
    save_file(checkpoint(SMALL_PIPELINES["stable-diffusion"].build()), tmp_path / "cut.safetensors")
    with (tmp_path / "cut.safetensors").open("r+b") as opened:
        opened.truncate(file.stat().st_size // 2)
    with pytest.raises(RequestError, match="the file holds"):
        load_pipeline(tmp_path / "cut.safetensors", config=str(folder))
