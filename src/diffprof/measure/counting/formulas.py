"""What each operation costs: the one place where the counting convention is written down.

A rule gets the arguments and the result of an ATen operation and says its MACs and other FLOPs:

- **MACs**: multiply-accumulates of matrix products, convolutions and attention products, exact integers.
- **other FLOPs**: everything else that computes. One FLOP for each output element of an elementwise operation
  (a transcendental function counts as one), one for each input element of a reduction, and the factors of
  `PER_ELEMENT` for operations that do several of these in one go.
- Data movement computes nothing; its bytes are counted by the recorder.

An operation that no rule, tag or list covers has no formula. It is never silently zero: the ledger names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import log2, prod
from typing import Any

import torch

LINEAR = "linear"
CONVOLUTION = "convolution"
MATMUL = "matmul"
ATTENTION = "attention"
NORM = "norm"
ACTIVATION = "activation"
SOFTMAX = "softmax"
ELEMENTWISE = "elementwise"
REDUCTION = "reduction"
EMBEDDING = "embedding"
RESAMPLING = "resampling"
FOURIER = "fourier"
SORTING = "sorting"
CREATION = "creation"
MOVEMENT = "data movement"
UNKNOWN = "unknown"

PER_ELEMENT = {
    "layer_norm": 7,  # mean 1, variance 2, subtract 1, scale 1, weight 1, bias 1
    "group_norm": 7,
    "batch_norm": 4,  # subtract, scale, weight, bias: the statistics are stored ones
    "rms_norm": 4,  # square, mean, scale, weight
    "softmax": 5,  # maximum, subtract, exponential, sum, divide
    "silu": 4,  # negate, exponential, add, divide
    "sigmoid": 3,
    "gelu": 8,  # cube, two products, two sums, tanh (or erf), half, product
    "mish": 6,
    "glu": 4,
    "log_sigmoid": 3,
    "elu": 3,
    "softplus": 3,
    "hardswish": 4,
}
"""FLOPs for each output element of operations that do several things in one go."""

BILINEAR_TAPS = {1: 2, 2: 4, 3: 8}
BICUBIC_TAPS = 16


@dataclass(frozen=True)
class Cost:
    """MACs and other FLOPs of one executed operation, and what kind of work it is."""

    kind: str
    macs: int = 0
    other_flops: int = 0


Rule = Callable[[Sequence[Any], Any], Cost]
"""(positional arguments, result) -> cost. ATen passes the tensors that matter positionally."""


def cost_of(op: Any, arguments: Sequence[Any], result: Any) -> Cost:
    """What executing `op` cost; kind `UNKNOWN` when there is no formula for it."""
    return rule_of(op)(arguments, result)


@cache
def rule_of(op: Any) -> Rule:
    """The rule for an ATen operation: by name, else by what PyTorch's own tags and schema say of it."""
    name = plain_name(op)
    if name in RULES:
        return RULES[name]
    kind = next((kind for kind, names in FREE.items() if name in names), None)
    if kind is not None:
        return _free(kind)
    if is_view(op):
        return _free(MOVEMENT)
    tags = getattr(op, "tags", ())
    if torch.Tag.pointwise in tags:
        return _each_output(ELEMENTWISE, 1)
    if torch.Tag.reduction in tags:
        return _each_input(REDUCTION, 1)
    return _free(UNKNOWN)


@cache
def plain_name(op: Any) -> str:
    """``aten.addmm_.default`` -> ``addmm``: an in-place variant costs what the operation costs."""
    packet = getattr(op, "overloadpacket", None)
    name = str(packet.__name__ if packet is not None else getattr(op, "__name__", op))
    if name.startswith("__"):
        return name
    return name[:-1] if name.endswith("_") else name


@cache
def is_view(op: Any) -> bool:
    """Does the result share the storage of an input? PyTorch does not say so of all that do."""
    return bool(getattr(op, "is_view", False)) or plain_name(op) in SHARES_STORAGE


def _elements(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel()
    if isinstance(value, (list, tuple)):
        return sum(_elements(part) for part in value)
    return 0


def _first(result: Any) -> torch.Tensor:
    return result[0] if isinstance(result, (list, tuple)) else result


def _free(kind: str) -> Rule:
    cost = Cost(kind)
    return lambda arguments, result: cost


def _each_output(kind: str, flops: int) -> Rule:
    return lambda arguments, result: Cost(kind, 0, flops * _elements(_first(result)))


def _each_input(kind: str, flops: int) -> Rule:
    return lambda arguments, result: Cost(kind, 0, flops * _elements(arguments[0]))


def _mm(arguments: Sequence[Any], result: Any) -> Cost:
    """[m, k] x [k, n]: m·k·n."""
    a, b = arguments[0], arguments[1]
    return Cost(MATMUL, a.shape[0] * a.shape[1] * b.shape[1])


def _addmm(arguments: Sequence[Any], result: Any) -> Cost:
    """The added matrix is one FLOP for each output element."""
    a, b = arguments[1], arguments[2]
    return Cost(MATMUL, a.shape[0] * a.shape[1] * b.shape[1], result.numel())


def _bmm(arguments: Sequence[Any], result: Any) -> Cost:
    a, b = arguments[0], arguments[1]
    return Cost(MATMUL, a.shape[0] * a.shape[1] * a.shape[2] * b.shape[2])


def _baddbmm(arguments: Sequence[Any], result: Any) -> Cost:
    a, b = arguments[1], arguments[2]
    return Cost(MATMUL, a.shape[0] * a.shape[1] * a.shape[2] * b.shape[2], result.numel())


def _addbmm(arguments: Sequence[Any], result: Any) -> Cost:
    a, b = arguments[1], arguments[2]
    macs = a.shape[0] * a.shape[1] * a.shape[2] * b.shape[2]
    return Cost(MATMUL, macs, result.numel())


def _mv(arguments: Sequence[Any], result: Any) -> Cost:
    return Cost(MATMUL, arguments[0].numel())


def _addmv(arguments: Sequence[Any], result: Any) -> Cost:
    return Cost(MATMUL, arguments[1].numel(), result.numel())


def _dot(arguments: Sequence[Any], result: Any) -> Cost:
    return Cost(MATMUL, arguments[0].numel())


def _addr(arguments: Sequence[Any], result: Any) -> Cost:
    return Cost(MATMUL, result.numel(), result.numel())


def _grouped_mm(arguments: Sequence[Any], result: Any) -> Cost:
    """Every row of the output is one row of the input times one of the matrices: rows·k·n."""
    a, b = arguments[0], arguments[1]
    inner = a.shape[-1]
    if a.dim() == 2 and b.dim() == 2:  # the groups lie along the inner dimension
        return Cost(MATMUL, a.shape[0] * inner * b.shape[-1])
    return Cost(MATMUL, result.numel() * inner)


def linear(arguments: Sequence[Any], result: Any) -> Cost:
    """x [..., in] times weight [out, in]: one MAC for each output element and input feature; the bias one FLOP each."""
    weight = arguments[1]
    bias = arguments[2] if len(arguments) > 2 else None
    return Cost(LINEAR, result.numel() * weight.shape[-1], result.numel() if bias is not None else 0)


def _convolution(arguments: Sequence[Any], result: Any) -> Cost:
    """Each output element gathers kernel·(channels in / groups); transposed, each input element scatters likewise."""
    x, weight, bias = arguments[0], arguments[1], arguments[2]
    transposed = bool(arguments[6])
    out = _first(result)
    per_element = prod(weight.shape[1:])  # [out, in/groups, *kernel], transposed [in, out/groups, *kernel]
    macs = (x.numel() if transposed else out.numel()) * per_element
    return Cost(CONVOLUTION, macs, out.numel() if bias is not None else 0)


def _convolution_backward(arguments: Sequence[Any], result: Any) -> Cost:
    """The gradient of the input and that of the weight each repeat the convolution's products."""
    gradient, x, weight = arguments[0], arguments[1], arguments[2]
    transposed, mask = bool(arguments[7]), arguments[10]
    macs = (x.numel() if transposed else gradient.numel()) * prod(weight.shape[1:])
    return Cost(CONVOLUTION, macs * (int(mask[0]) + int(mask[1])), gradient.numel() if mask[2] else 0)


@dataclass(frozen=True)
class AttentionShape:
    """B batches, H query heads, N_q query tokens, N_k key tokens, D head size, D_v value size."""

    batch: int
    heads: int
    key_heads: int
    query_tokens: int
    key_tokens: int
    head_size: int
    value_size: int

    @property
    def qk_macs(self) -> int:
        return self.batch * self.heads * self.query_tokens * self.key_tokens * self.head_size

    @property
    def av_macs(self) -> int:
        return self.batch * self.heads * self.query_tokens * self.key_tokens * self.value_size

    def softmax_flops(self, scaled: bool = True) -> int:
        """Of the scores, with their scaling where the same kernel does it."""
        each = PER_ELEMENT["softmax"] + int(scaled)
        return self.batch * self.heads * self.query_tokens * self.key_tokens * each


def attention_shape(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> AttentionShape:
    """Of tensors laid out [..., heads, tokens, size], as `scaled_dot_product_attention` takes them.

    The product is over the whole N_q x N_k, also under a causal or other mask: that is what dense kernels are given,
    and it keeps the count independent of the kernel. Grouped-query attention repeats the fewer key heads.
    """
    batch = torch.broadcast_shapes(query.shape[:-3], key.shape[:-3], value.shape[:-3])
    return AttentionShape(
        batch=prod(batch),
        heads=query.shape[-3] if query.dim() > 2 else 1,
        key_heads=key.shape[-3] if key.dim() > 2 else 1,
        query_tokens=query.shape[-2],
        key_tokens=key.shape[-2],
        head_size=query.shape[-1],
        value_size=value.shape[-1],
    )


def attention(arguments: Sequence[Any], result: Any) -> Cost:
    shape = attention_shape(arguments[0], arguments[1], arguments[2])
    return Cost(ATTENTION, shape.qk_macs + shape.av_macs, shape.softmax_flops())


def _interpolation(taps: int) -> Rule:
    """A weighted sum of `taps` neighbours: a product and a sum each."""
    return lambda arguments, result: Cost(RESAMPLING, 0, 2 * taps * _elements(result))


def _pool(arguments: Sequence[Any], result: Any) -> Cost:
    kernel = arguments[1] if len(arguments) > 1 else ()
    window = prod(kernel) if isinstance(kernel, (list, tuple)) else int(kernel)
    return Cost(RESAMPLING, 0, _elements(_first(result)) * window)


def _fft(arguments: Sequence[Any], result: Any) -> Cost:
    """5·N·log2(N) for each transform of length N: the usual figure for a complex radix-2 transform."""
    x, dims = arguments[0], arguments[1]
    length = prod(max(x.shape[d], result.shape[d]) for d in dims)
    elements = max(x.numel(), result.numel())
    return Cost(FOURIER, 0, round(5 * elements * log2(length)) if length > 1 else 0)


def _sort(arguments: Sequence[Any], result: Any) -> Cost:
    """N·log2(N) comparisons."""
    elements = _elements(arguments[0])
    return Cost(SORTING, 0, round(elements * log2(elements)) if elements > 1 else 0)


def _cdist(arguments: Sequence[Any], result: Any) -> Cost:
    """Each distance: difference, square and sum for each coordinate, and a root."""
    return Cost(REDUCTION, 0, result.numel() * (3 * arguments[0].shape[-1] + 1))


def _matrix_function(arguments: Sequence[Any], result: Any) -> Cost:
    """n³ for each n x n matrix: the leading term of a factorisation or an inverse."""
    x = arguments[0]
    return Cost(ELEMENTWISE, 0, x.numel() * min(x.shape[-2:]))


RULES: dict[str, Rule] = {
    "mm": _mm,
    "addmm": _addmm,
    "bmm": _bmm,
    "baddbmm": _baddbmm,
    "addbmm": _addbmm,
    "mv": _mv,
    "addmv": _addmv,
    "dot": _dot,
    "vdot": _dot,
    "addr": _addr,
    "_grouped_mm": _grouped_mm,
    "linear": linear,
    "_scaled_mm": _mm,
    "_int_mm": _mm,
    "convolution": _convolution,
    "_convolution": _convolution,
    "convolution_backward": _convolution_backward,
    "scaled_dot_product_attention": attention,
    "_scaled_dot_product_attention_math": attention,
    "_scaled_dot_product_flash_attention": attention,
    "_scaled_dot_product_flash_attention_for_cpu": attention,
    "_scaled_dot_product_efficient_attention": attention,
    "_scaled_dot_product_cudnn_attention": attention,
    "_scaled_dot_product_fused_attention_overrideable": attention,
    "native_layer_norm": _each_output(NORM, PER_ELEMENT["layer_norm"]),
    "native_group_norm": _each_output(NORM, PER_ELEMENT["group_norm"]),
    "native_batch_norm": _each_output(NORM, PER_ELEMENT["batch_norm"]),
    "_native_batch_norm_legit_no_training": _each_output(NORM, PER_ELEMENT["batch_norm"]),
    "_native_batch_norm_legit": _each_output(NORM, PER_ELEMENT["layer_norm"]),
    "_fused_rms_norm": _each_output(NORM, PER_ELEMENT["rms_norm"]),
    "_weight_norm_interface": _each_output(NORM, 3),
    "rms_norm": _each_output(NORM, PER_ELEMENT["rms_norm"]),
    "linalg_vector_norm": _each_input(REDUCTION, 2),
    "norm": _each_input(REDUCTION, 2),
    "_softmax": _each_output(SOFTMAX, PER_ELEMENT["softmax"]),
    "_safe_softmax": _each_output(SOFTMAX, PER_ELEMENT["softmax"]),
    "_log_softmax": _each_output(SOFTMAX, PER_ELEMENT["softmax"]),
    "_softmax_backward_data": _each_output(SOFTMAX, 4),
    "native_layer_norm_backward": _each_input(NORM, 2 * PER_ELEMENT["layer_norm"]),
    "native_group_norm_backward": _each_input(NORM, 2 * PER_ELEMENT["group_norm"]),
    "silu": _each_output(ACTIVATION, PER_ELEMENT["silu"]),
    "silu_backward": _each_output(ACTIVATION, 2 * PER_ELEMENT["silu"]),
    "sigmoid": _each_output(ACTIVATION, PER_ELEMENT["sigmoid"]),
    "gelu": _each_output(ACTIVATION, PER_ELEMENT["gelu"]),
    "gelu_backward": _each_output(ACTIVATION, 2 * PER_ELEMENT["gelu"]),
    "mish": _each_output(ACTIVATION, PER_ELEMENT["mish"]),
    "glu": _each_output(ACTIVATION, PER_ELEMENT["glu"]),
    "elu": _each_output(ACTIVATION, PER_ELEMENT["elu"]),
    "softplus": _each_output(ACTIVATION, PER_ELEMENT["softplus"]),
    "hardswish": _each_output(ACTIVATION, PER_ELEMENT["hardswish"]),
    "log_sigmoid_forward": _each_output(ACTIVATION, PER_ELEMENT["log_sigmoid"]),
    "relu": _each_output(ACTIVATION, 1),
    "leaky_relu": _each_output(ACTIVATION, 2),
    "hardtanh": _each_output(ACTIVATION, 2),
    "tanh": _each_output(ACTIVATION, 1),
    "_prelu_kernel": _each_output(ACTIVATION, 2),
    "native_dropout": _each_output(ELEMENTWISE, 2),
    "upsample_nearest1d": _free(RESAMPLING),
    "upsample_nearest2d": _free(RESAMPLING),
    "upsample_nearest3d": _free(RESAMPLING),
    "_upsample_nearest_exact1d": _free(RESAMPLING),
    "_upsample_nearest_exact2d": _free(RESAMPLING),
    "_upsample_nearest_exact3d": _free(RESAMPLING),
    "upsample_linear1d": _interpolation(BILINEAR_TAPS[1]),
    "upsample_bilinear2d": _interpolation(BILINEAR_TAPS[2]),
    "_upsample_bilinear2d_aa": _interpolation(BILINEAR_TAPS[2]),
    "upsample_trilinear3d": _interpolation(BILINEAR_TAPS[3]),
    "upsample_bicubic2d": _interpolation(BICUBIC_TAPS),
    "_upsample_bicubic2d_aa": _interpolation(BICUBIC_TAPS),
    "grid_sampler_2d": _interpolation(BILINEAR_TAPS[2]),
    "grid_sampler_3d": _interpolation(BILINEAR_TAPS[3]),
    "avg_pool1d": _pool,
    "avg_pool2d": _pool,
    "avg_pool3d": _pool,
    "max_pool2d_with_indices": _pool,
    "max_pool3d_with_indices": _pool,
    "_adaptive_avg_pool2d": _each_input(RESAMPLING, 1),
    "_adaptive_avg_pool3d": _each_input(RESAMPLING, 1),
    "adaptive_max_pool2d": _each_input(RESAMPLING, 1),
    "_fft_r2c": _fft,
    "_fft_c2r": _fft,
    "_fft_c2c": _fft,
    "sort": _sort,
    "argsort": _sort,
    "topk": _sort,
    "kthvalue": _sort,
    "median": _sort,
    "nanmedian": _sort,
    "_unique2": _sort,
    "unique_dim": _sort,
    "unique_consecutive": _each_input(SORTING, 1),
    "searchsorted": _sort,
    "bucketize": _sort,
    "histc": _each_input(REDUCTION, 1),
    "bincount": _each_input(REDUCTION, 1),
    "cumsum": _each_input(REDUCTION, 1),
    "cumprod": _each_input(REDUCTION, 1),
    "cummax": _each_input(REDUCTION, 1),
    "logcumsumexp": _each_input(REDUCTION, 3),
    "logsumexp": _each_input(REDUCTION, 3),
    "var_mean": _each_input(REDUCTION, 3),
    "std_mean": _each_input(REDUCTION, 3),
    "var": _each_input(REDUCTION, 3),
    "std": _each_input(REDUCTION, 3),
    "mean": _each_input(REDUCTION, 1),
    "sum": _each_input(REDUCTION, 1),
    "prod": _each_input(REDUCTION, 1),
    "amax": _each_input(REDUCTION, 1),
    "amin": _each_input(REDUCTION, 1),
    "max": _each_input(REDUCTION, 1),
    "min": _each_input(REDUCTION, 1),
    "aminmax": _each_input(REDUCTION, 2),
    "argmax": _each_input(REDUCTION, 1),
    "argmin": _each_input(REDUCTION, 1),
    "any": _each_input(REDUCTION, 1),
    "all": _each_input(REDUCTION, 1),
    "equal": _each_input(REDUCTION, 1),
    "is_nonzero": _each_input(REDUCTION, 1),
    "count_nonzero": _each_input(REDUCTION, 1),
    "cdist": _cdist,
    "_cdist_forward": _cdist,
    "_euclidean_dist": _cdist,
    "linalg_inv_ex": _matrix_function,
    "linalg_cholesky_ex": _matrix_function,
    "_linalg_svd": _matrix_function,
    "_linalg_eigh": _matrix_function,
    "_linalg_solve_ex": _matrix_function,
    "linalg_lu_factor_ex": _matrix_function,
    "linalg_qr": _matrix_function,
    "_linalg_det": _matrix_function,
    "index_add": _each_input(ELEMENTWISE, 1),
    "scatter_add": _each_input(ELEMENTWISE, 1),
    "scatter_reduce": _each_input(ELEMENTWISE, 1),
    "segment_reduce": _each_input(REDUCTION, 1),
    "linalg_cross": _each_output(ELEMENTWISE, 3),
    "lerp": _each_output(ELEMENTWISE, 3),
    "addcmul": _each_output(ELEMENTWISE, 2),
    "addcdiv": _each_output(ELEMENTWISE, 2),
    "masked_fill": _free(MOVEMENT),
    "where": _free(MOVEMENT),
    "clone": _free(MOVEMENT),
    "copy": _free(MOVEMENT),
    "fill": _free(CREATION),
    "zero": _free(CREATION),
    "floor_divide": _each_output(ELEMENTWISE, 1),
    "_foreach_add": lambda arguments, result: Cost(ELEMENTWISE, 0, _elements(arguments[0])),
    "_foreach_mul": lambda arguments, result: Cost(ELEMENTWISE, 0, _elements(arguments[0])),
}

SHARES_STORAGE = frozenset(
    [
        "_unsafe_view",
        "_reshape_alias",
        "unsafe_split",
        "unsafe_split_with_sizes",
        "unsafe_chunk",
        "detach",
        "alias",
        "lift_fresh",
    ]
)

FREE: dict[str, frozenset[str]] = {
    EMBEDDING: frozenset({"embedding", "index_select", "_embedding_bag", "_embedding_bag_forward_only"}),
    CREATION: frozenset(
        [
            "empty",
            "empty_like",
            "empty_strided",
            "empty_permuted",
            "new_empty",
            "new_empty_strided",
            "zeros",
            "zeros_like",
            "new_zeros",
            "ones",
            "ones_like",
            "new_ones",
            "full",
            "full_like",
            "new_full",
            "scalar_tensor",
            "arange",
            "linspace",
            "logspace",
            "eye",
            "rand",
            "rand_like",
            "randn",
            "randn_like",
            "randint",
            "randint_like",
            "randperm",
            "normal",
            "uniform",
            "bernoulli",
            "exponential",
            "random",
            "cauchy",
            "log_normal",
            "geometric",
            "multinomial",
            "tril_indices",
            "triu_indices",
            "hann_window",
            "hamming_window",
            "lift_fresh",
            "lift_fresh_copy",
            "_efficientzerotensor",
            "complex",
            "polar",
        ]
    ),
    MOVEMENT: frozenset(
        [
            "_to_copy",
            "_copy_from",
            "copy",
            "cat",
            "stack",
            "contiguous",
            "index",
            "index_put",
            "_index_put_impl",
            "_unsafe_index",
            "_unsafe_index_put",
            "_unsafe_masked_index",
            "gather",
            "scatter",
            "select_scatter",
            "slice_scatter",
            "diagonal_scatter",
            "as_strided_scatter",
            "index_copy",
            "index_fill",
            "take",
            "take_along_dim",
            "masked_select",
            "masked_scatter",
            "nonzero",
            "nonzero_static",
            "repeat",
            "repeat_interleave",
            "flip",
            "roll",
            "rot90",
            "tril",
            "triu",
            "constant_pad_nd",
            "reflection_pad1d",
            "reflection_pad2d",
            "reflection_pad3d",
            "replication_pad1d",
            "replication_pad2d",
            "replication_pad3d",
            "pad",
            "pixel_shuffle",
            "pixel_unshuffle",
            "channel_shuffle",
            "im2col",
            "col2im",
            "unfold_copy",
            "expand_copy",
            "permute_copy",
            "slice_copy",
            "view_copy",
            "split_copy",
            "split_with_sizes_copy",
            "unbind_copy",
            "_unsafe_view",
            "_reshape_alias",
            "_reshape_copy",
            "unsafe_split",
            "unsafe_split_with_sizes",
            "unsafe_chunk",
            "detach",
            "alias",
            "view_as_real",
            "view_as_complex",
            "_conj",
            "conj",
            "conj_physical",
            "resolve_conj",
            "resolve_neg",
            "set",
            "resize",
            "resize_as",
            "_local_scalar_dense",
            "item",
            "_assert_async",
            "_assert_scalar",
            "_assert_tensor_metadata",
            "sym_size",
            "sym_stride",
            "sym_numel",
            "sym_storage_offset",
            "is_same_size",
            "block_diag",
            "cartesian_prod",
            "combinations",
            "one_hot",
            "meshgrid",
            "bernoulli_copy",
            "record_stream",
            "_has_compatible_shallow_copy_type",
            "is_pinned",
            "_pin_memory",
            "pin_memory",
            "_nested_tensor_from_tensor_list",
            "_resize_output",
            "fill_diagonal",
            "max_unpool2d",
            "_linalg_check_errors",
            "_sparse_coo_tensor_with_dims_and_tensors",
            "to_dense",
        ]
    ),
}
"""Operations that compute nothing, by what they do instead."""
