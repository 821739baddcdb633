"""The cost of each operation: the one place that defines the counting convention.

A formula gets the arguments and the result of an ATen operation and returns its MACs and other FLOPs:

- **MACs**: multiply-accumulates of matrix products, convolutions and attention products, exact integers.
- **other FLOPs**: everything else that computes. One FLOP for each output element of an elementwise operation
  (a transcendental function counts as one), one for each input element of a reduction, and the factors of
  `PER_ELEMENT` for operations that combine several of these.
- Data movement computes nothing; its bytes are counted by the recorder.

An operation that no formula, tag or list covers is unknown. It is never silently zero: the ledger names it.
Programs can add formulas: see `diffprof.counting.formulas.registry`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import log2, prod
from typing import Any

import torch

from diffprof.counting.formulas import products
from diffprof.counting.formulas.kinds import (
    ACTIVATION,
    BICUBIC_TAPS,
    BILINEAR_TAPS,
    CREATION,
    ELEMENTWISE,
    FOURIER,
    FREE,
    MOVEMENT,
    NORM,
    PER_ELEMENT,
    REDUCTION,
    RESAMPLING,
    SHARES_STORAGE,
    SOFTMAX,
    SORTING,
    UNKNOWN,
    Formula,
    OperationCost,
)
from diffprof.counting.formulas.registry import call_on_change, registered_formula


def cost_of(op: Any, arguments: Sequence[Any], result: Any) -> OperationCost:
    """Return the cost of executing `op`, of kind `UNKNOWN` if it has no formula."""
    return formula_for(op)(arguments, result)


@cache
def formula_for(op: Any) -> Formula:
    """Return the formula of an operation: a registered one, else by name, else by PyTorch's own tags and schema."""
    registered = registered_formula(op)
    if registered is not None:
        return registered
    name = plain_name(op)
    if name in FORMULAS:
        return FORMULAS[name]
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


call_on_change(formula_for.cache_clear)


@cache
def plain_name(op: Any) -> str:
    """``aten.addmm_.default`` -> ``addmm``: an in-place variant costs the same."""
    packet = getattr(op, "overloadpacket", None)
    name = str(packet.__name__ if packet is not None else getattr(op, "__name__", op))
    if name.startswith("__"):
        return name
    return name[:-1] if name.endswith("_") else name


@cache
def is_view(op: Any) -> bool:
    """Whether the result shares the storage of an input; PyTorch does not declare all views as such."""
    return bool(getattr(op, "is_view", False)) or plain_name(op) in SHARES_STORAGE


def _elements(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel()
    if isinstance(value, (list, tuple)):
        return sum(_elements(part) for part in value)
    return 0


def _first_result(result: Any) -> torch.Tensor:
    return result[0] if isinstance(result, (list, tuple)) else result


def _free(kind: str) -> Formula:
    cost = OperationCost(kind)
    return lambda arguments, result: cost


def _each_output(kind: str, flops: int) -> Formula:
    return lambda arguments, result: OperationCost(kind, 0, flops * _elements(_first_result(result)))


def _each_input(kind: str, flops: int) -> Formula:
    return lambda arguments, result: OperationCost(kind, 0, flops * _elements(arguments[0]))


def _interpolation(taps: int) -> Formula:
    """A weighted sum of `taps` neighbours: a product and a sum each."""
    return lambda arguments, result: OperationCost(RESAMPLING, 0, 2 * taps * _elements(result))


def _pool(arguments: Sequence[Any], result: Any) -> OperationCost:
    kernel = arguments[1] if len(arguments) > 1 else ()
    window = prod(kernel) if isinstance(kernel, (list, tuple)) else int(kernel)
    return OperationCost(RESAMPLING, 0, _elements(_first_result(result)) * window)


def _fourier(arguments: Sequence[Any], result: Any) -> OperationCost:
    """5·N·log2(N) for each transform of length N, the usual count for a complex radix-2 transform."""
    x, dims = arguments[0], arguments[1]
    length = prod(max(x.shape[d], result.shape[d]) for d in dims)
    elements = max(x.numel(), result.numel())
    return OperationCost(FOURIER, 0, round(5 * elements * log2(length)) if length > 1 else 0)


def _sort(arguments: Sequence[Any], result: Any) -> OperationCost:
    """N·log2(N) comparisons."""
    elements = _elements(arguments[0])
    return OperationCost(SORTING, 0, round(elements * log2(elements)) if elements > 1 else 0)


def _cdist(arguments: Sequence[Any], result: Any) -> OperationCost:
    """Difference, square and sum for each coordinate, and a root for each distance."""
    return OperationCost(REDUCTION, 0, result.numel() * (3 * arguments[0].shape[-1] + 1))


def _matrix_function(arguments: Sequence[Any], result: Any) -> OperationCost:
    """n³ for each n x n matrix, the leading term of a factorisation or an inverse."""
    x = arguments[0]
    return OperationCost(ELEMENTWISE, 0, x.numel() * min(x.shape[-2:]))


FORMULAS: dict[str, Formula] = {
    "mm": products.mm,
    "addmm": products.addmm,
    "bmm": products.bmm,
    "baddbmm": products.baddbmm,
    "addbmm": products.addbmm,
    "mv": products.mv,
    "addmv": products.addmv,
    "dot": products.dot,
    "vdot": products.dot,
    "addr": products.addr,
    "_grouped_mm": products.grouped_mm,
    "linear": products.linear,
    "_scaled_mm": products.mm,
    "_int_mm": products.mm,
    "convolution": products.convolution,
    "_convolution": products.convolution,
    "convolution_backward": products.convolution_backward,
    "scaled_dot_product_attention": products.attention,
    "_scaled_dot_product_attention_math": products.attention,
    "_scaled_dot_product_flash_attention": products.attention,
    "_scaled_dot_product_flash_attention_for_cpu": products.attention,
    "_scaled_dot_product_efficient_attention": products.attention,
    "_scaled_dot_product_cudnn_attention": products.attention,
    "_scaled_dot_product_fused_attention_overrideable": products.attention,
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
    "_fft_r2c": _fourier,
    "_fft_c2r": _fourier,
    "_fft_c2c": _fourier,
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
    "_is_all_true": _each_input(REDUCTION, 1),
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
    "polar": _each_output(ELEMENTWISE, 4),  # cosine, sine, two products
    "floor_divide": _each_output(ELEMENTWISE, 1),
    "_foreach_add": lambda arguments, result: OperationCost(ELEMENTWISE, 0, _elements(arguments[0])),
    "_foreach_mul": lambda arguments, result: OperationCost(ELEMENTWISE, 0, _elements(arguments[0])),
}
