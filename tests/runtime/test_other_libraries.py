"""Pipelines prepared by the real libraries, where they are installed: measured as they run unwatched, counted right.

They need `pip install --no-deps bitsandbytes torchao cache-dit` and are not among the tools of this project: importing
them takes seconds, and they print warnings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from diffusers import AutoencoderKL, DDIMScheduler, DiTPipeline, DiTTransformer2DModel
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import diffprof
from tests.small_pipelines import SMALL_PIPELINES

CALL: dict[str, Any] = {"class_labels": [1], "num_inference_steps": 2, "output_type": "np"}


def small_dit() -> Any:
    torch.manual_seed(0)
    transformer = DiTTransformer2DModel(
        num_attention_heads=4, attention_head_dim=32, in_channels=4, out_channels=8, num_layers=2, sample_size=16,
        num_embeds_ada_norm=1000,
    )  # fmt: skip
    vae = AutoencoderKL(block_out_channels=(32,), layers_per_block=1, norm_num_groups=8)
    pipeline = DiTPipeline(transformer.eval(), vae.eval(), DDIMScheduler())
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def _replace_layers(model: torch.nn.Module, create: Callable[[torch.nn.Linear], torch.nn.Module]) -> None:
    for path, layer in list(model.named_modules()):
        if isinstance(layer, torch.nn.Linear) and "transformer_blocks" in path:
            parent, _, name = path.rpartition(".")
            setattr(model.get_submodule(parent), name, create(layer).to("cpu"))


def nf4(model: torch.nn.Module) -> None:
    layers = pytest.importorskip("bitsandbytes").nn

    def create(layer: torch.nn.Linear) -> Any:
        packed = layers.Linear4bit(
            layer.in_features, layer.out_features, bias=True, quant_type="nf4", compute_dtype=torch.float32
        )
        packed.weight = layers.Params4bit(layer.weight.data, requires_grad=False, quant_type="nf4")
        packed.bias = layer.bias
        return packed

    _replace_layers(model, create)


def llm_int8(model: torch.nn.Module) -> None:
    layers = pytest.importorskip("bitsandbytes").nn

    def create(layer: torch.nn.Linear) -> Any:
        packed = layers.Linear8bitLt(layer.in_features, layer.out_features, bias=True, has_fp16_weights=False)
        packed.weight = layers.Int8Params(layer.weight.data, requires_grad=False, has_fp16_weights=False)
        packed.bias = layer.bias
        return packed

    _replace_layers(model, create)


def torchao(config: str) -> Callable[[torch.nn.Module], None]:
    def quantize(model: torch.nn.Module) -> None:
        quantization = pytest.importorskip("torchao.quantization")
        quantization.quantize_(model, getattr(quantization, config)())

    return quantize


WAYS = {
    "bitsandbytes nf4": (nf4, "float32"),
    "bitsandbytes int8": (llm_int8, "int8"),
    "torchao int8": (torchao("Int8WeightOnlyConfig"), "float32"),
    "torchao int8, dynamic": (torchao("Int8DynamicActivationInt8WeightConfig"), "int8"),
    "torchao fp8": (torchao("Float8WeightOnlyConfig"), "float32"),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_quantized_pipeline_gives_what_it_gives_unwatched_and_counts_as_the_plain_one(name: str) -> None:
    quantize, dtype = WAYS[name]
    pipeline = small_dit()
    plain = diffprof.profile(pipeline, **CALL)
    quantize(pipeline.transformer)

    def call() -> torch.Tensor:
        return torch.as_tensor(pipeline(**CALL, generator=torch.Generator().manual_seed(1)).images)

    before = call()
    with diffprof.measuring(pipeline) as run:
        watched = call()
    assert torch.equal(before, watched) and torch.equal(before, call())
    assert run.limitations == ()
    parts = run.profile.components["transformer"], plain.components["transformer"]
    assert run.profile.total.macs == plain.total.macs
    assert parts[0].parameters == parts[1].parameters and parts[0].dtype == dtype
    assert parts[0].weight_bytes < 0.5 * parts[1].weight_bytes


def test_what_cache_dit_skips_is_not_counted() -> None:
    library = pytest.importorskip("cache_dit")
    small = SMALL_PIPELINES["flux"]

    def cached() -> Any:
        torch.manual_seed(0)
        pipeline: Any = small.build()
        config = library.DBCacheConfig(
            Fn_compute_blocks=1, Bn_compute_blocks=0, residual_diff_threshold=0.9, max_warmup_steps=2
        )
        library.enable_cache(pipeline, cache_config=config)
        return pipeline

    arguments = {**small.arguments(), "num_inference_steps": 8}
    alone = torch.as_tensor(cached()(**arguments).images)
    pipeline, arguments = cached(), {**small.arguments(), "num_inference_steps": 8}
    with diffprof.measuring(pipeline) as run:
        watched = torch.as_tensor(pipeline(**arguments).images)
    assert torch.equal(alone, watched)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        cached()(**{**small.arguments(), "num_inference_steps": 8})
    assert run.profile.total.macs == counter.get_total_flops() // 2
