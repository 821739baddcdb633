"""The count does not depend on which attention backend would run, nor on whether its package is installed."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
import torch
from diffusers.models import attention_dispatch

import diffprof
from diffprof.record.profile import Attention
from tests.extensive import split_cases
from tests.small_pipelines import SMALL_PIPELINES

FEW_BACKENDS = ("native", "flash", "_flash_3", "flash_varlen", "sage", "xformers", "flex", "_native_math")
BACKENDS = sorted(backend.value for backend in attention_dispatch._AttentionBackendRegistry._backends)


def attention(done: diffprof.Profile, component: str) -> set[Attention]:
    return {shape for call in done.calls if call.component == component for shape in call.cost.attention}


@pytest.fixture(scope="module")
def flux() -> Any:
    return SMALL_PIPELINES["flux"].build()


@pytest.fixture(scope="module")
def native(flux: Any) -> diffprof.Profile:
    return diffprof.profile(flux, **SMALL_PIPELINES["flux"].arguments())


def test_there_are_many_backends() -> None:
    assert {"native", "flash", "flash_varlen", "sage", "xformers", "flex", "flash_hub"} <= set(BACKENDS)


@pytest.mark.parametrize("backend", split_cases(BACKENDS, always=FEW_BACKENDS))
def test_every_backend_counts_the_same(backend: str, flux: Any, native: diffprof.Profile) -> None:
    """Set as `set_attention_backend` sets it, which itself insists on a package that may not be here."""
    chosen = attention_dispatch.AttentionBackendName(backend)
    processors = list(flux.transformer.attn_processors.values())
    before = [processor._attention_backend for processor in processors]
    for processor in processors:
        processor._attention_backend = chosen
    try:
        done = diffprof.profile(flux, **SMALL_PIPELINES["flux"].arguments())
    finally:
        for processor, value in zip(processors, before, strict=True):
            processor._attention_backend = value
    assert done.total.macs == native.total.macs
    assert done.total.other_flops == native.total.other_flops
    assert attention(done, "transformer") == attention(native, "transformer")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_mask_another_key_length_and_fewer_key_heads_reach_the_count(backend: str) -> None:
    from diffprof.counting.attention_backends import catch_attention_backends
    from diffprof.counting.operations.functions import FunctionMode
    from diffprof.counting.operations.recorder import OperationRecorder
    from diffprof.counting.operations.virtual import VirtualMode
    from diffprof.pipelines.patching import Patches

    recorder = OperationRecorder()
    mode = VirtualMode(recorder)
    query, key = torch.empty(2, 5, 4, 8, device="meta"), torch.empty(2, 7, 2, 8, device="meta")
    with Patches() as patches, torch.no_grad(), recorder.component_call("Backend") as call:
        catch_attention_backends(patches, mode)
        with mode, FunctionMode(mode):
            mask = torch.ones(2, 7, dtype=torch.bool)
            result = attention_dispatch.dispatch_attention_fn(
                query,
                key,
                key,
                attn_mask=mask,
                enable_gqa=True,
                backend=attention_dispatch.AttentionBackendName(backend),
            )
        (shape,) = call.cost(0).attention
    assert tuple(result.shape) == (2, 5, 4, 8)
    assert (shape.batch, shape.query_tokens, shape.key_tokens) == (2, 5, 7)
    assert (shape.heads, shape.key_heads, shape.head_size) == (4, 2, 8)
    assert shape.macs == 2 * 2 * 4 * 5 * 7 * 8
    assert shape.masked
    assert shape.relation == "cross"


KERNELS = {
    "xformers memory-efficient": ("xformers.ops", "memory_efficient_attention", (2, 5, 4, 8), {"attn_bias": None}),
    "xformers with heads in the batch": ("xformers.ops", "memory_efficient_attention", (8, 5, 8), {"attn_bias": None}),
    "flash": ("flash_attn", "flash_attn_func", (2, 5, 4, 8), {"causal": True}),
    "sage, heads first": ("sageattention", "sageattn", (2, 4, 5, 8), {}),
    "sage, tokens first": ("sageattention", "sageattn", (2, 5, 4, 8), {"tensor_layout": "NHD"}),
}


def memory_efficient_attention(query: Any, key: Any, value: Any, attn_bias: Any = None, p: float = 0.0) -> Any:
    raise AssertionError("a kernel must not run")


def flash_attn_func(
    q: Any, k: Any, v: Any, dropout_p: float = 0.0, softmax_scale: Any = None, causal: bool = False
) -> Any:
    raise AssertionError("a kernel must not run")


def sageattn(q: Any, k: Any, v: Any, tensor_layout: str = "HND", is_causal: bool = False) -> Any:
    raise AssertionError("a kernel must not run")


@pytest.mark.parametrize(("package", "kernel", "shape", "options"), KERNELS.values(), ids=KERNELS.keys())
def test_a_kernel_that_is_called_without_the_registry_is_caught_too(
    package: str, kernel: str, shape: tuple[int, ...], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType(package)
    setattr(module, kernel, globals()[kernel])
    monkeypatch.setitem(sys.modules, package, module)
    pipeline = SMALL_PIPELINES["stable-diffusion"].build()
    plain = diffprof.profile(pipeline, **SMALL_PIPELINES["stable-diffusion"].arguments())

    def attend_once_more(module_: Any, args: Any, output: Any) -> None:
        tensors = [output[0].flatten()[: 2 * 4 * 5 * 8].reshape(shape)] * 3
        assert getattr(module, kernel)(*tensors, **options).shape == shape

    pipeline.unet.register_forward_hook(attend_once_more)
    done = diffprof.profile(pipeline, **SMALL_PIPELINES["stable-diffusion"].arguments())
    # Two batches, four heads, five tokens, size eight, two products; in each of two steps.
    assert done.total.macs - plain.total.macs == 2 * (2 * 2 * 4 * 5 * 5 * 8)


@pytest.mark.parametrize("name", ["stable-diffusion", "qwen-image"])
def test_text_encoders_with_flash_attention_are_counted_without_its_package(name: str) -> None:
    """As with ``attn_implementation="flash_attention_2"``, for which transformers keeps the kernels to itself."""
    small = SMALL_PIPELINES[name]
    pipeline: Any = small.build()
    plain = diffprof.profile(pipeline, **small.arguments())
    for module in pipeline.text_encoder.modules():
        if hasattr(module, "config"):
            module.config._attn_implementation = "flash_attention_2"
    flash = diffprof.profile(pipeline, **small.arguments())
    assert flash.components["text_encoder"].macs == plain.components["text_encoder"].macs > 0
    assert flash.ledger.unknown == {}
