"""Which attention ran: by operator, by kernel, and where nobody fused it."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.traces.analysis.attention import fused_alternative
from diffprof.traces.views.names import alternative_name
from tests.traces.conftest import Explain
from tests.traces.trace_builder import TraceBuilder

BF16 = "c10::BFloat16"


def shapes(*dimensions: list[int], dtype: str = BF16) -> dict[str, Any]:
    return {"Input Dims": list(dimensions), "Input type": [dtype] * len(dimensions)}


@pytest.mark.parametrize(
    ("op", "kernel", "backend"),
    [
        ("aten::_flash_attention_forward", "attn_fwd", "flash"),
        ("aten::_efficient_attention_forward", "attn_fwd", "memory-efficient"),
        ("aten::_efficient_attention_forward", "fmha_cutlassF_bf16_aligned_64x64_rf_sm80", "memory-efficient"),
        ("aten::_cudnn_attention_forward", "cudnn_generated_fort_native_sdpa_sm90_flash_fprop", "cudnn"),
        ("xformers::efficient_attention_forward_cutlass", "fmha_cutlassF_bf16_aligned_64x64_rf_sm80", "xformers"),
        ("sageattention::qattn", "qk_int_sv_f16_attn_kernel", "sage"),
        ("aiter::mha_fwd", "fmha_fwd_hd128_bf16", "aiter"),
        ("flash_attn::_flash_attn_forward", "flash_fwd_kernel", "flash"),
        ("", "pytorch_flash::flash_fwd_kernel", "flash"),
        ("", "triton_tem_fused_flex_attention_0", "flex"),
        ("", "_attn_fwd", "triton"),
        ("", "PyTorchMemEffAttention::AttentionKernel<float>", "memory-efficient"),
    ],
)
def test_the_implementation_is_that_of_the_operator_else_of_the_kernel(
    op: str, kernel: str, backend: str, explain_built: Explain
) -> None:
    builder = TraceBuilder()
    if op:
        builder.op(op, 0, 10)
    builder.kernel(kernel, 20, 50, launched=2)
    (row,) = explain_built(builder).attention
    assert (row.backend, row.calls, row.kernels, row.gpu_ns) == (backend, 1, 1, 30_000)


def test_two_kernels_of_one_operator_are_one_call(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.op("aten::_flash_attention_forward", 0, 10, **shapes([1, 8, 4096, 64], [1, 8, 77, 64], [1, 8, 77, 64]))
    builder.kernel("flash_fwd_splitkv_kernel", 20, 50, launched=2)
    builder.kernel("flash_fwd_splitkv_combine_kernel", 50, 55, launched=6)
    (row,) = explain_built(builder).attention
    assert (row.calls, row.kernels, row.gpu_ns, row.dtype) == (1, 2, 35_000, "bfloat16")
    assert row.shapes == "1x8x4096x64, 1x8x77x64"


def eager(biased: bool = False) -> TraceBuilder:
    builder = TraceBuilder()
    steps: list[tuple[str, str, dict[str, Any]]] = [
        ("aten::bmm", "gemm_qk", shapes([96, 3137, 64], [96, 64, 3137])),
        ("aten::add" if biased else "aten::mul", "vectorized_elementwise_kernel", {}),
        ("aten::_softmax", "softmax_warp_forward", {}),
        ("aten::_to_copy", "copy_kernel", {}),
        ("aten::bmm", "gemm_av", {}),
        ("aten::addmm", "gemm_out", {}),
    ]
    for number, (op, kernel, args) in enumerate(steps):
        builder.op(op, 10 * number, 10 * number + 8, **args)
        builder.kernel(kernel, 100 + 10 * number, 110 + 10 * number, launched=10 * number + 2)
    return builder


@pytest.mark.parametrize(("biased", "fast"), [(False, "flash"), (True, "memory-efficient: it takes a mask or bias")])
def test_a_product_a_softmax_and_a_product_are_unfused_attention(
    biased: bool, fast: str, explain_built: Explain
) -> None:
    explanation = explain_built(eager(biased))
    (row,) = explanation.attention
    assert (row.backend, row.calls, row.kernels, row.gpu_ns) == ("eager", 1, 5, 50_000)
    assert (row.shapes, row.dtype, alternative_name(row.alternative)) == ("96x3137x64, 96x64x3137", "bfloat16", fast)
    assert {kind.kind: kind.gpu_ns for kind in explanation.kinds} == {"attention": 50_000, "gemm": 10_000}


def test_a_softmax_without_a_product_after_it_is_not_attention(explain_built: Explain) -> None:
    builder = eager()
    for event in builder.events:
        event["name"] = event["name"].replace("aten::bmm", "aten::addmm")
    assert explain_built(builder).attention == ()


def test_the_slow_path_of_torch_names_the_fused_alternative(explain_built: Explain) -> None:
    builder = TraceBuilder()
    qkv = shapes([1, 1, 4096, 512], [1, 1, 4096, 512], [1, 1, 4096, 512])
    builder.op("aten::scaled_dot_product_attention", 0, 60, **qkv)
    builder.op("aten::_scaled_dot_product_attention_math", 1, 59, **qkv)
    for number, kernel in enumerate(("gemm_qk", "softmax_warp_forward", "gemm_av")):
        builder.op("aten::bmm", 10 * number + 2, 10 * number + 10)
        builder.kernel(kernel, 100 + 10 * number, 110 + 10 * number, launched=10 * number + 4)
    (row,) = explain_built(builder).attention
    assert (row.backend, row.calls, row.kernels, row.gpu_ns) == ("math", 1, 3, 30_000)
    assert alternative_name(row.alternative) == "memory-efficient: a head size of 512 is too large for flash"


def test_without_shapes_the_alternative_is_unknown(explain_built: Explain) -> None:
    builder = eager()
    for event in builder.events:
        event["args"].pop("Input Dims", None)
    (row,) = explain_built(builder).attention
    assert (row.shapes, alternative_name(row.alternative)) == ("", "unknown: shapes were not recorded")


@pytest.mark.parametrize(
    ("head", "dtype", "biased", "words"),
    [
        (64, "float16", False, "flash"),
        (256, "bfloat16", False, "flash"),
        (264, "bfloat16", False, "memory-efficient: a head size of 264"),
        (64, "float32", False, "memory-efficient; flash in half precision"),
        (64, "bfloat16", True, "memory-efficient: it takes a mask or bias"),
        (60, "bfloat16", False, "flash, which pads heads"),
        (60, "bfloat16", True, "none: a head size of 60 is not a multiple of 8"),
        (64, "float64", False, "none: float64"),
    ],
)
def test_the_alternative_depends_on_head_size_dtype_and_bias(head: int, dtype: str, biased: bool, words: str) -> None:
    assert alternative_name(fused_alternative(head, dtype, biased)).startswith(words)
