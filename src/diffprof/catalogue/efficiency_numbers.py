"""The numbers that the time model has for each accelerator."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Efficiency:
    """The numbers of the time model for one accelerator; docs/prediction.md says how each is used."""

    product_share: float
    """Share of the peak that a large matrix product achieves if power does not limit it."""
    joules_per_teraflop: float
    """Energy of a product; together with the board's power, it limits the clock."""
    convolution_share: float
    """Speed of a convolution, relative to a matrix product of the same size."""
    attention_share: float
    """Speed of the products in fused attention, relative to a matrix product of the same size."""
    scores_per_clock: float
    """Scores of attention per clock that a multiprocessor of 128 lanes scales, exponentiates and sums."""
    masked_score_passes: float
    """Time of a score where there is a mask, relative to one without."""
    wide_head_share: float
    """Speed of attention with heads above 256, relative to smaller ones."""
    bandwidth_share: float
    """Share of the published bandwidth that elementwise operations achieve."""
    cache_speedup: float
    """Speed of data in the L2 cache, relative to memory."""
    strided_passes: float
    """Extra cost of strided reads, in multiples of their bytes for float32; twice as much for 16-bit dtypes."""
    elements_per_clock: float
    """Elements per clock of a multiprocessor that has to compute the index of each, as for a broadcast input."""
    norm_passes: float
    """How many times a norm reads and writes its elements."""
    conversion_passes: float
    """How many more times a convolution reads and writes its input and output to convert their layout."""
    kernel_seconds: float
    """Time of the smallest kernel on the device."""
    operation_seconds: float
    """Time in which the host launches an operation."""
    view_seconds: float
    """Host time of an operation that only changes a shape."""
    module_seconds: float
    """Host time of calling a module."""
    compiled_passes: float
    """Remaining share of the time of other operations (neither products nor norms) when compiled."""
    compiled_norm_passes: float
    """Remaining share of the time of norms when compiled."""
    compiled_conversion_passes: float
    """`conversion_passes` when compiled, which keeps layouts channels-last if possible."""
    compiled_product_speedup: float
    """Speed of products when compiled, because torch.compile chooses other kernels."""
    compiled_host_share: float
    """Remaining share of the host's time when compiled."""
    speed: float
    """Speed of this accelerator's products, relative to its family."""
    spread: float
    """Standard deviation of the logarithm of the ratio of measured to predicted times."""
    host_spread: float
    """`spread` for the host's part of the time."""


NAMES = tuple(part.name for part in fields(Efficiency))

FORMER_NAMES = ("masked_attention_share", "narrow_head_share")
"""Numbers of calibrations by earlier versions; they are ignored."""
