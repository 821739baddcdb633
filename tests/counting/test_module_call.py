"""One module by itself: counted as in a pipeline, and as a real call of it computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import diffprof
from diffprof.counting.request_profile import count_request
from diffprof.errors import PipelineError, RequestError
from diffprof.record.request import Request
from tests.pipelines.folders import saved
from tests.small_pipelines import SMALL_PIPELINES

INPUTS = {"sample": "2x4x16x16", "timestep": "scalar", "encoder_hidden_states": "2x77x32"}


class Block(torch.nn.Module):
    """A module of no library."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 8))

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> dict[str, torch.Tensor]:
        return {"out": self.layers(x) * scale}


def test_any_module_costs_what_a_real_call_of_it_costs() -> None:
    block, x = Block(), torch.randn(3, 5, 8)
    weights = {name: weight.clone() for name, weight in block.state_dict().items()}
    profile = diffprof.profile_module(block, x, scale=2.0)
    with FlopCounterMode(display=False) as counter:
        block(x, scale=2.0)
    assert profile.total.flops == counter.get_total_flops() == 2 * 2 * 15 * 8 * 32
    assert profile.total.parameters == 2 * 8 * 32 + 40
    assert profile.request.arguments == {"0": "tensor 3x5x8 float32", "scale": 2.0}
    paths = {module.path for module in profile.components["module"].modules}
    assert {"", "layers", "layers.0", "layers.2"} <= paths
    assert all(torch.equal(weight, block.state_dict()[name]) for name, weight in weights.items())


def test_a_module_on_the_meta_device_costs_the_same() -> None:
    with torch.device("meta"):
        block, x = Block(), torch.empty(3, 5, 8)
    assert diffprof.profile_module(block, x).total.macs == 2 * 15 * 8 * 32


def test_a_profile_of_a_module_is_saved_and_loaded(tmp_path: Path) -> None:
    profile = diffprof.profile_module(Block(), torch.zeros(1, 8))
    assert diffprof.load(profile.save(tmp_path / "block.json")) == profile


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(RequestError, match=r"profile_module takes a torch\.nn\.Module or a method of one, not a list"):
        diffprof.profile_module([], torch.zeros(1))  # type: ignore[arg-type]


def test_a_shape_that_the_module_rejects_is_one_sentence() -> None:
    with pytest.raises(PipelineError, match="Block failed with these arguments, in its own code") as raised:
        diffprof.profile_module(Block(), torch.zeros(1, 9))
    assert "\n" not in str(raised.value)
    assert "a Linear for 8 channels, got 1x9" in str(raised.value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved("stable-diffusion", tmp_path_factory.mktemp("model"))


def component(model: Path, slot: str, inputs: dict[str, str]) -> diffprof.Profile:
    return count_request(Request.create(model, component=slot, inputs=inputs), use_cache=False)


def test_a_component_costs_what_its_call_in_the_pipeline_costs(folder: Path) -> None:
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    whole = diffprof.profile(pipeline, prompt="a cat", num_inference_steps=1)
    called = next(call for call in whole.calls if call.component == "unet")
    shapes = {tensor.name: "x".join(map(str, tensor.shapes[0])) or "scalar" for tensor in called.inputs}
    alone = component(folder, "unet", shapes)
    assert alone.total.macs == called.macs
    assert alone.components["unet"].parameters == whole.components["unet"].parameters
    assert alone.components["unet"].role == "denoiser"


def test_the_folder_of_the_component_is_enough(folder: Path) -> None:
    whole = component(folder, "unet", INPUTS)
    assert component(folder / "unet", "unet", INPUTS).total.macs == whole.total.macs > 0
    ids = {"input_ids": "1x77"}
    assert (
        component(folder / "text_encoder", "any", ids).total.macs == component(folder, "text_encoder", ids).total.macs
    )


BAD: dict[str, tuple[str, dict[str, str], str]] = {
    "no inputs": ("unet", {}, "UNet2DConditionModel needs sample and timestep and encoder_hidden_states"),
    "an input that it has not": ("unet", {**INPUTS, "sampel": "1"}, "has no input 'sampel'; did you mean sample"),
    "no shape": ("unet", {**INPUTS, "sample": "big"}, "--input sample takes a shape such as 1x4096x64"),
    "no dtype": ("unet", {**INPUTS, "sample": "1x4:f16"}, "the unknown dtype 'f16'"),
    "a shape beyond measure": ("unet", {**INPUTS, "sample": "99999999x99999999"}, "no model takes as many"),
    "no such component": ("transformer", INPUTS, "has no component 'transformer'; it has"),
    "a scheduler": ("scheduler", INPUTS, "scheduler is a DDIMScheduler, which computes nothing"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_request_is_one_sentence(case: str, folder: Path) -> None:
    slot, inputs, message = BAD[case]
    with pytest.raises(RequestError, match=message) as raised:
        component(folder, slot, inputs)
    assert "\n" not in str(raised.value)


def test_a_folder_without_a_class_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"neither model_index\.json nor a config\.json"):
        component(tmp_path, "unet", INPUTS)
    (tmp_path / "config.json").write_text(json.dumps({"layers": 3}))
    with pytest.raises(RequestError, match="names no class"):
        component(tmp_path, "unet", INPUTS)


def test_inputs_have_dtypes_and_plain_values() -> None:
    from diffprof.pipelines.module_inputs import input_tensors

    class Module(torch.nn.Module):
        def forward(self, ids: torch.LongTensor, x: Any = None, flag: bool = False, scale: float = 1.0) -> None: ...

    given = {"ids": "2x3", "x": "2x3:bool", "flag": "true", "scale": "0.5"}
    inputs = input_tensors(Module(), given, "float16")
    assert (inputs["ids"].dtype, inputs["x"].dtype, inputs["flag"], inputs["scale"]) == (
        torch.int64,
        torch.bool,
        True,
        0.5,
    )
    large = input_tensors(Module(), {"ids": "1", "x": "4096x4096"}, "float16")["x"]
    assert (large.is_meta, large.dtype) == (True, torch.float16)


def test_a_vae_decodes_alone_as_in_the_pipeline(tmp_path: Path) -> None:
    folder = saved("stable-diffusion", tmp_path / "model")
    whole = diffprof.profile(folder, height=32, width=32, num_inference_steps=1)
    decode = next(call for call in whole.calls if call.component == "vae")
    size = "x".join(str(side) for side in next(part.shapes[0] for part in decode.inputs if part.name == "z"))
    asked = {"component": "vae", "method": "decode", "inputs": {"z": size}}
    alone = count_request(Request.create(folder, **asked), use_cache=False)
    assert [(call.component, call.method, call.work) for call in alone.calls[:1]] == [("vae", "decode", decode.work)]
    recorded = alone.request
    assert (recorded.component, recorded.method, recorded.inputs) == ("vae", "decode", {"z": size})
    again = count_request(recorded.as_request(folder), use_cache=False)
    assert again.total == alone.total


def test_a_method_of_a_live_module_is_counted() -> None:
    vae = SMALL_PIPELINES["stable-diffusion"].build().vae
    profile = diffprof.profile_module(vae.decode, torch.zeros(1, vae.config.latent_channels, 8, 8))
    assert [call.method for call in profile.calls if call.macs] == ["decode"]
    with pytest.raises(RequestError, match=r"takes a torch\.nn\.Module or a method of one"):
        diffprof.profile_module(print, 1)


def test_a_method_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    folder = saved("stable-diffusion", tmp_path / "model")
    with pytest.raises(RequestError, match="AutoencoderKL has no method 'decod' to count; it has decode"):
        count_request(Request.create(folder, component="vae", method="decod", inputs={"z": "1x4x8x8"}), use_cache=False)
