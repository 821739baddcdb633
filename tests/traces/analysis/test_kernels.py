"""Names of real kernels and the kind of work that each does."""

from __future__ import annotations

import pytest

from diffprof.traces.analysis.kernels import is_triton, kernel_kind
from diffprof.traces.facts import KINDS

KERNELS = {
    "gemm": [
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64_MI16x16x1_SN",
        "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off",
        "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT",
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16>",
        "triton_tem_fused_addmm_5",
    ],
    "convolution": [
        "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32_wt32x32x8",
        "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64_32x4_nhwc_align8>",
        "Im2d2Col_v2",
        "triton_tem_fused_convolution_3",
    ],
    "attention": [
        "attn_fwd",
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>",
        "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::Params)",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_64x128x128",
        "void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<ck_tile::BlockFmhaPipeline>>",
        "triton_tem_fused_flex_attention_0",
        "qk_int_sv_f16_attn_kernel<128, 64>",
    ],
    "norm": [
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>",
        "void (anonymous namespace)::groupnorm_kernel_dispatch_down<__hip_bfloat16, 1024u>",
        "triton_red_fused_add_addmm_mul_native_layer_norm_split_unsqueeze_view_16",
        "triton_per_fused__to_copy_add_addmm_mean_mul_pow_rsqrt_transpose_view_8",
    ],
    "elementwise": [
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>",
        "void at::native::(anonymous namespace)::upsample_nearest2d_out_frame<&nearest_neighbor_compute_source_index>",
        "triton_poi_fused_addmm_gelu_view_15",
        "triton_poi_fused__scaled_dot_product_flash_attention_add_mul_10",
    ],
    "reduction": [
        "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float>",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>",
        "triton_red_fused_sum_1",
    ],
    "copy": [
        "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(Base&)>",
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy_contig<OpaqueType<2u>>",
        "batched_transpose_32x32_half",
        "triton_poi_fused__unsafe_view_clone_slice_transpose_11",
        "Memcpy HtoD (Pageable -> Device)",
    ],
    "communication": [
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>",
        "mscclKernel_Sum_half_Simple",
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t",
        "void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>",
        "oneccl_allreduce_medium_pcie",
        "userbuffers_fp16_sum_inplace_gpu_rr_rs_oop",
    ],
    "other": ["some_kernel_that_nobody_knows"],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in KERNELS.items() for name in names])
def test_a_kernel_is_classified_by_its_name(kind: str, name: str) -> None:
    assert kernel_kind(name) == kind


def test_all_kinds_are_tried() -> None:
    assert set(KERNELS) == set(KINDS)


def test_kernels_of_torch_compile_are_recognised() -> None:
    assert is_triton("triton_poi_fused_add_1")
    assert not is_triton("attn_fwd")
