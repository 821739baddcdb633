"""The workspace of operations: memory they need besides inputs and outputs while they execute on a GPU."""

from __future__ import annotations

from math import prod

from diffprof.record.profile import Operation

BYTES = {
    "float64": 8,
    "float32": 4,
    "bfloat16": 2,
    "float16": 2,
    "int64": 8,
    "int32": 4,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}

LARGEST_FUSED_HEAD = 256
"""Head size up to which flash attention has a kernel; memory-efficient attention, on NVIDIA, has no such limit."""


def element_bytes(dtype: str) -> int:
    """Bytes of one element; 1 for the 8-bit kinds."""
    return BYTES.get(dtype, 1)


MOST_COPIED_ELEMENTS = 2**32
"""Of input and output together, as far as cuDNN's copying kernels can number them."""


def convolution_bytes(operation: Operation) -> int:
    """What cuDNN takes for a convolution: copies of its tensors in the layout of its kernels.

    Its tensor-core kernels work with channels last. Tensors of PyTorch have channels first, so cuDNN converts them in
    memory of its own. A convolution of one pixel is a matrix product and needs no copy.
    """
    shapes = operation.shapes
    if len(shapes.inputs) < 2 or not shapes.outputs:
        return 0
    source, weight, result = shapes.inputs[0], shapes.inputs[1], shapes.outputs[0]
    kernel = weight[2:]
    if prod(kernel) == 1 or _is_depthwise(source, weight):
        return 0
    copied = prod(source) + prod(weight)
    if _copies_output(source, result, operation.dtype):
        copied += prod(result)
    return copied * element_bytes(operation.dtype)


def _copies_output(source: tuple[int, ...], result: tuple[int, ...], dtype: str) -> bool:
    """Whether the output is made with channels last and converted, or written as PyTorch wants it.

    Read off published peaks, to the percent: written at once in float32 (SDXL, SSD-1B), with several images where there
    are as many channels as before (FLUX.1 with 4 and 8), and where there are too many elements (FLUX.1 with 16).
    """
    if dtype == "float32" or prod(source) + prod(result) > MOST_COPIED_ELEMENTS:
        return False
    return not (len(source) == 4 and source[0] > 1 and result[1] >= source[1])


def _is_depthwise(source: tuple[int, ...], weight: tuple[int, ...]) -> bool:
    return len(source) == len(weight) and weight[1] == 1 and source[1] > 1


FUSED, MATH, PLAIN = "fused", "math", "plain"
"""Attention in a fused kernel, in PyTorch's own operations, and in those of diffusers' `AttnProcessor`."""

PLAIN_CLASSES = (
    *("UNet2DConditionModel", "UNet3DConditionModel", "UNetMotionModel", "UNetSpatioTemporalConditionModel"),
    *("Kandinsky3UNet", "ControlNetModel", "ControlNetUnionModel", "PixArtTransformer2DModel", "PriorTransformer"),
    *("AutoencoderKL", "AutoencoderKLFlux2", "AutoencoderKLTemporalDecoder"),
)
"""Models that have `AttnProcessor` to run without a fused kernel: `set_default_attn_processor` sets it."""


def attention_way(attention: str, class_name: str) -> str:
    """How a component computes attention; `attention` is the setting of the run."""
    if attention == "sdpa":
        return FUSED
    return PLAIN if class_name in PLAIN_CLASSES else MATH


def score_bytes(operation: Operation, way: str = MATH) -> int:
    """What attention takes where no fused kernel runs: the scores of all queries with all keys, and their softmax.

    PyTorch adds them up in float32 at least, and keeps a mark for each that says whether it is masked altogether;
    `AttnProcessor` stays in the dtype.
    """
    query, key = operation.shapes.inputs[0], operation.shapes.inputs[1]
    scores = prod(query[:-1]) * key[-2]
    size = element_bytes(operation.dtype)
    return scores * 2 * size if way == PLAIN else scores * (2 * max(4, size) + 1)


def fused_attention_bytes(operation: Operation) -> int:
    """What a fused kernel keeps in addition: a sum in float32 for each query of each head."""
    return 4 * prod(operation.shapes.inputs[0][:-1])
