"""The numbers that the time model has for each accelerator."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Efficiency:
    """The numbers of the time model for one accelerator; docs/prediction.md says how each is used."""

    product_share: float
    """Of the peak, what a large matrix product reaches where power does not limit it."""
    joules_per_teraflop: float
    """That a product takes: with the board's power it limits the clock."""
    convolution_share: float
    """Of what a matrix product of the same size reaches."""
    attention_share: float
    """Of what a matrix product of the same size reaches, by a fused kernel without a mask."""
    masked_attention_share: float
    """Of the speed without a mask."""
    narrow_head_share: float
    """Of the speed with heads of 128, where they have 64."""
    bandwidth_share: float
    """Of the published bandwidth, what elementwise operations reach."""
    cache_speedup: float
    """Of what lies in the L2 cache, against memory."""
    strided_passes: float
    """Of float32, what is read across memory costs as much as so many times its bytes more; of 16 bits twice that."""
    elements_per_clock: float
    """That a multiprocessor handles where the place of each has to be worked out, as for a broadcast input."""
    norm_passes: float
    """How many times a norm reads and writes its elements."""
    conversion_passes: float
    """How many more times a convolution moves its input and output, to change their layout."""
    kernel_seconds: float
    """That the smallest kernel takes on the device."""
    operation_seconds: float
    """That the host needs to launch an operation."""
    view_seconds: float
    """That the host needs for an operation that only changes a shape."""
    module_seconds: float
    """That the host needs to call a module."""
    compiled_passes: float
    """Of the time of all that is neither product nor norm, what is left when it is compiled."""
    compiled_norm_passes: float
    """Of the time of norms, what is left when they are compiled."""
    compiled_conversion_passes: float
    """As `conversion_passes`, compiled: layouts are kept channels-last where possible."""
    compiled_product_speedup: float
    """Of products, as torch.compile chooses their kernels."""
    compiled_host_share: float
    """Of the host's time, what is left when it is compiled."""
    speed: float
    """Of the products of this accelerator against others of its family."""
    spread: float
    """Standard deviation of the logarithm of measured against predicted times."""
    host_spread: float
    """The same for the host's part."""


NAMES = tuple(part.name for part in fields(Efficiency))
