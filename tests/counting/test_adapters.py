"""What a live pipeline carries is counted where it runs: LoRA, IP-Adapter, T2I-Adapter."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import diffprof
from tests.small_pipelines import SMALL_PIPELINES

RANK = 4


def profile(name: str, **changes: Any) -> diffprof.Profile:
    small = SMALL_PIPELINES[name]
    return diffprof.profile(small.build(), **small.arguments() | changes)


def adapted_layers(unet: Any) -> list[tuple[str, int, int]]:
    """Path, inputs and outputs of each linear layer that has an adapter."""
    return [
        (path, module.in_features, module.out_features)
        for path, module in unet.named_modules()
        if hasattr(module, "lora_A")
    ]


def test_a_lora_adds_two_thin_products_for_each_adapted_layer() -> None:
    """Batch 2: each of N tokens times (inputs + outputs) times the rank."""
    done, plain = profile("stable-diffusion-lora"), profile("stable-diffusion")
    layers = adapted_layers(SMALL_PIPELINES["stable-diffusion-lora"].build().unet)
    assert layers
    call = next(call for call in plain.calls if call.component == "unet")
    tokens = {module.path: rows_of(call, module.path) for module in call.cost.modules}
    extra = sum(RANK * (inputs + outputs) * tokens[path] for path, inputs, outputs in layers)
    assert done.steps.macs - plain.steps.macs == extra
    assert done.components["vae"].work == plain.components["vae"].work
    assert done.components["text_encoder"].work == plain.components["text_encoder"].work


def rows_of(call: Any, path: str) -> int:
    """Rows that a linear layer is applied to: its MACs over its size."""
    module = next(module for module in call.cost.modules if module.path == path)
    weights = SIZES.get(path)
    return module.work.macs // weights if weights else 0


SIZES = {
    path: module.weight.numel()
    for path, module in SMALL_PIPELINES["stable-diffusion"].build().unet.named_modules()
    if isinstance(module, torch.nn.Linear)
}


def test_a_lora_is_in_the_parameters_and_the_module_tree() -> None:
    done, plain = profile("stable-diffusion-lora"), profile("stable-diffusion")
    layers = adapted_layers(SMALL_PIPELINES["stable-diffusion-lora"].build().unet)
    extra = sum(RANK * (inputs + outputs) for _, inputs, outputs in layers)
    assert done.components["unet"].parameters - plain.components["unet"].parameters == extra
    call = next(call for call in done.calls if call.component == "unet")
    assert any("lora_A" in module.path and module.work.macs for module in call.cost.modules)


def test_a_lora_that_is_fused_or_switched_off_costs_nothing() -> None:
    small = SMALL_PIPELINES["stable-diffusion-lora"]
    plain = profile("stable-diffusion")
    pipeline = small.build()
    pipeline.unet.disable_adapters()
    assert diffprof.profile(pipeline, **small.arguments()).total.macs == plain.total.macs
    pipeline = small.build()
    pipeline.unet.fuse_lora()
    assert diffprof.profile(pipeline, **small.arguments()).total.macs == plain.total.macs


def test_an_ip_adapter_adds_its_encoder_its_projection_and_its_attention() -> None:
    done, plain = profile("stable-diffusion-ip-adapter"), profile("stable-diffusion")
    assert done.components["image_encoder"].macs > 0
    assert done.steps.macs > plain.steps.macs
    call = next(call for call in done.calls if call.component == "unet")
    to_picture = [shape for shape in call.cost.attention if shape.key_tokens == 4]
    to_text = [shape for shape in call.cost.attention if shape.key_tokens == 77]
    assert sum(shape.count for shape in to_picture) == sum(shape.count for shape in to_text) > 0
    assert {shape.relation for shape in to_picture} == {"cross"}


@pytest.mark.parametrize("name", ["stable-diffusion-t2i-adapter", "stable-diffusion-xl-t2i-adapter"])
def test_a_t2i_adapter_runs_once_before_the_loop(name: str) -> None:
    done = profile(name, num_inference_steps=3)
    assert done.components["adapter"].calls == 1
    assert done.components["adapter"].macs > 0
    assert done.components["adapter"].role == "adapter"


def test_two_controlnets_cost_twice_one() -> None:
    one, two = profile("stable-diffusion-controlnet"), profile("stable-diffusion-two-controlnets")
    assert two.components["controlnet"].macs == 2 * one.components["controlnet"].macs
