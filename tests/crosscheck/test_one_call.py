"""The call that is crosschecked is the one that the pipeline makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from diffprof.crosscheck.one_call import OneCall, RecordedCall, open_pipeline, record_costliest_call, with_real_weights
from diffprof.errors import RequestError
from diffprof.render.shapes import inputs_text
from tests.small_pipelines import SMALL_PIPELINES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("models") / "small"
    SMALL_PIPELINES["stable-diffusion"].build().save_pretrained(place)
    return str(place)


@pytest.fixture
def pipeline(folder: str) -> Any:
    return open_pipeline(folder)[0]


def test_without_a_name_it_is_the_denoiser_as_guidance_calls_it(pipeline: Any) -> None:
    call = record_costliest_call(pipeline, None, {"height": 16, "width": 32})
    assert (call.component, call.method) == ("unet", "forward")
    assert inputs_text(call.inputs) == "sample 2x4x8x16, timestep scalar, encoder_hidden_states 2x77x32"


def test_any_component_can_be_named_and_its_own_method_is_called(pipeline: Any) -> None:
    call = record_costliest_call(pipeline, "vae", {"height": 16, "width": 16})
    assert (call.method, inputs_text(call.inputs)) == ("decode", "z 1x4x8x8")


def test_an_unknown_component_is_rejected_with_those_there_are(pipeline: Any) -> None:
    with pytest.raises(RequestError, match="has no component 'transformer'; it has vae, text_encoder, unet"):
        record_costliest_call(pipeline, "transformer", {})


def test_a_caught_call_runs_for_real_on_weights_of_the_same_architecture(pipeline: Any, tmp_path: Path) -> None:
    record_costliest_call(pipeline, "vae", {"height": 16, "width": 16}).save(tmp_path / "call.pt")
    call = RecordedCall.load(tmp_path / "call.pt")
    real = with_real_weights(pipeline.vae)
    assert [weight.shape for weight in real.parameters()] == [weight.shape for weight in pipeline.vae.parameters()]
    one_call = OneCall(real, call)
    tensors = one_call.tensors("cpu")
    assert all(tensor.any() for tensor in tensors), "nothing is computed of zeros"
    with torch.no_grad():
        (picture,) = one_call(*tensors)
    assert picture.shape == (1, 3, 16, 16)
    assert picture.isfinite().all()
