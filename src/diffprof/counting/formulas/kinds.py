"""Kinds of operations, operations that are free, and the factors of operations with several parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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

KINDS = (
    LINEAR, CONVOLUTION, MATMUL, ATTENTION, NORM, ACTIVATION, SOFTMAX, ELEMENTWISE, REDUCTION, EMBEDDING, RESAMPLING,
    FOURIER, SORTING, CREATION, MOVEMENT,
)  # fmt: skip
"""The kinds that a formula can return."""

PER_ELEMENT = {
    "layer_norm": 7,  # mean 1, variance 2, subtract 1, scale 1, weight 1, bias 1
    "group_norm": 7,
    "batch_norm": 4,  # subtract, scale, weight, bias; the statistics are stored
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
"""FLOPs per output element of operations that consist of several elementary ones."""

BILINEAR_TAPS = {1: 2, 2: 4, 3: 8}
BICUBIC_TAPS = 16


@dataclass(frozen=True)
class OperationCost:
    """MACs and other FLOPs of one executed operation, and its kind."""

    kind: str
    """One of `KINDS`, such as ``matmul`` or ``elementwise``; ``unknown`` if there is no formula."""
    macs: int = 0
    other_flops: int = 0


Formula = Callable[[Sequence[Any], Any], OperationCost]
"""(positional arguments, result) -> cost. ATen passes the relevant tensors positionally."""


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
            "diag_embed",
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
            "complex",
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
