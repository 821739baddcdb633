"""Where the modules of a pipeline are, and what is special about them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from diffprof.counting.pipeline_layout import PipelineLayout, is_virtual
from tests.small_pipelines import SMALL_PIPELINES


@pytest.fixture
def pipeline() -> Any:
    return SMALL_PIPELINES["stable-diffusion"].build()


def test_every_module_has_its_path_and_every_component_its_slot(pipeline: Any) -> None:
    layout = PipelineLayout(pipeline)
    assert layout.paths[id(pipeline.unet)] == "" and layout.slots[id(pipeline.vae)] == "vae"
    assert layout.paths[id(pipeline.unet.down_blocks[0].resnets[0])] == "down_blocks.0.resnets.0"
    assert layout.roles["unet"] == "denoiser"
    assert layout.slots_with_state() == set() and layout.captured == []


def test_weights_with_data_are_known_by_their_identity(pipeline: Any) -> None:
    layout = PipelineLayout(pipeline)
    assert not layout.is_virtual and id(next(pipeline.unet.parameters())) in layout.real_weights
    assert is_virtual({"model": torch.nn.Linear(2, 2, device="meta")})


def test_code_of_no_known_library_has_a_state_also_where_its_class_was_changed_later(
    pipeline: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = PipelineLayout(pipeline)
    monkeypatch.setattr(type(pipeline.unet), "forward", lambda self, x: x)
    assert layout.slots_with_state() == {"unet"}


def test_hooks_are_seen_when_they_come(pipeline: Any) -> None:
    watchers = PipelineLayout(pipeline).watchers["unet"]
    assert not watchers.any()
    pipeline.unet.conv_in.register_forward_hook(lambda module, args, output: None)
    assert watchers.any()
