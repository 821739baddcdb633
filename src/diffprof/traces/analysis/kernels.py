"""Which kind of work a kernel does, judged by its name."""

from __future__ import annotations

import re
from functools import lru_cache

_COMMUNICATION = re.compile(
    r"nccl|rccl|msccl|oneccl|cross_device|nvshmem|multimem|symm_mem|userbuffers|all_?(reduce|gather|to_?all)", re.I
)
_ATTENTION = re.compile(
    r"flash_?(fwd|bwd|attn|attention|infer)|flash::|FlashAttn|fmha|(^|_)attn_(fwd|bwd)|AttentionKernel|sage_?attn|qk_int"
    r"|(mem(ory)?_?)?efficient_attention|cudnn.*sdpa|sdpa|flex_attention|paged_attention",
    re.I,
)
_CONVOLUTION = re.compile(r"conv(?!ert)|igemm|implicit_gemm|fprop|dgrad|wgrad|winograd|im2(d2)?col|col2im", re.I)
_GEMM = re.compile(
    r"gemm|gemv|Cijk_|cublas|cutlass|xmma|nvjet|splitk|matmul|wgmma|marlin|hipblas|rocblas|dot_kernel|(^|_)(add)?b?mm(_|$)",
    re.I,
)
_NORM = re.compile(r"norm|welford|RowwiseMoments|bn_fw|bn_bw", re.I)
_REDUCTION = re.compile(
    r"softmax|reduce|reduction|argm(ax|in)|topk|sort|scan|cumsum|radix|histogram|partition|(roc)?prim::|cub::", re.I
)
_COPY = re.compile(
    r"copy|CatArray|transpose|permute|nchwToNhwc|nhwcToNchw|gather|scatter|index|roll_|pad(ding)?_|memcpy|memset|narrow",
    re.I,
)
_RESIZE = re.compile(r"upsample|interpolate", re.I)
_ELEMENTWISE = re.compile(
    r"elementwise|pointwise|vectorized|unroll|gelu|silu|relu|sigmoid|tanh|distribution|random"
    r"|dropout|fill|arange|functor|TensorOp|quant|where|compare|cast",
    re.I,
)
_INDUCTOR = re.compile(r"^triton_(poi|red|per|tem|for|mm|split_scan)_fused_?(.*)|^triton_(poi|red|per|tem)_")
_MOVES_ONLY = {
    *("clone", "cat", "view", "unsafe", "transpose", "slice", "permute", "copy", "to", "expand", "stack", "squeeze"),
    *("unsqueeze", "reshape", "select", "split", "repeat", "contiguous", "pad", "constant", "nd", "with", "sizes"),
}


@lru_cache(maxsize=100_000)
def kernel_kind(name: str) -> str:
    """One of `KINDS`. Kernels of torch.compile are named after the operators in them, and so are checked first."""
    if _COMMUNICATION.search(name):
        return "communication"
    if _INDUCTOR.match(name):
        return _inductor_kind(name)
    for pattern, kind in _IN_ORDER:
        if pattern.search(name):
            return kind
    return "other"


def is_triton(name: str) -> bool:
    """Whether torch.compile generated the kernel."""
    return name.startswith("triton_")


# The template of a kernel comes first: a GEMM with a fused copy is a GEMM.
_IN_ORDER = (
    (_ATTENTION, "attention"),
    (_CONVOLUTION, "convolution"),
    (_GEMM, "gemm"),
    (_NORM, "norm"),
    (_REDUCTION, "reduction"),
    # Its name mentions indices, which would match a copy.
    (_RESIZE, "elementwise"),
    (_COPY, "copy"),
    (_ELEMENTWISE, "elementwise"),
)


def _inductor_kind(name: str) -> str:
    """A fused pointwise kernel is named after the matrix products around it, but multiplies nothing."""
    words = name.split("_")
    form = words[1]
    if form in ("tem", "mm"):
        if "flex_attention" in name:
            return "attention"
        return "convolution" if "convolution" in words else "gemm"
    if form in ("red", "per", "split"):
        is_norm = "norm" in words or ("rsqrt" in words and "mean" in words)
        return "norm" if is_norm else "reduction"
    fused = {word for word in words[3:] if word and not word.isdigit()}
    return "copy" if fused and fused <= _MOVES_ONLY else "elementwise"
