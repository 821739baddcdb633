"""Convolutions cost kernel x channels for each output element, or, transposed, for each input element."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counting.formulas.counted import kinds, macs_three_ways, on_real, on_virtual, other_flops_both_ways

quick = settings(max_examples=15, deadline=None)

PLAIN = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


@dataclass(frozen=True)
class Shape:
    """A convolution: B batches, groups of channels, and for each dimension size, kernel, stride, padding, dilation."""

    batch: int
    groups: int
    in_per_group: int
    out_per_group: int
    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: int
    padding: int
    dilation: int

    @property
    def dimensions(self) -> int:
        return len(self.sizes)

    @property
    def x(self) -> torch.Tensor:
        return torch.ones(self.batch, self.groups * self.in_per_group, *self.sizes)

    @property
    def weight(self) -> torch.Tensor:
        return torch.ones(self.groups * self.out_per_group, self.in_per_group, *self.kernel)

    @property
    def transposed_weight(self) -> torch.Tensor:
        return torch.ones(self.groups * self.in_per_group, self.out_per_group, *self.kernel)

    @property
    def out_sizes(self) -> tuple[int, ...]:
        """(size + 2·padding - dilation·(kernel - 1) - 1) / stride + 1, rounded down."""
        return tuple(
            (size + 2 * self.padding - self.dilation * (kernel - 1) - 1) // self.stride + 1
            for size, kernel in zip(self.sizes, self.kernel, strict=True)
        )

    @property
    def options(self) -> dict[str, Any]:
        return {
            "stride": self.stride,
            "padding": self.padding,
            "dilation": self.dilation,
            "groups": self.groups,
        }


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    small = st.integers(1, 3)
    dimensions = draw(small)
    return Shape(
        batch=draw(small),
        groups=draw(small),
        in_per_group=draw(small),
        out_per_group=draw(small),
        sizes=tuple(draw(st.integers(5, 7)) for _ in range(dimensions)),
        kernel=tuple(draw(small) for _ in range(dimensions)),
        stride=draw(st.integers(1, 2)),
        padding=draw(st.integers(0, 1)),
        dilation=draw(st.integers(1, 2)),
    )


@quick
@given(shape=shapes())
def test_a_convolution_gathers_the_kernel_over_its_groups_channels_for_each_output(shape: Shape) -> None:
    def convolve(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return PLAIN[shape.dimensions](x, weight, **shape.options)

    outputs = shape.batch * shape.groups * shape.out_per_group * prod(shape.out_sizes)
    expected = outputs * shape.in_per_group * prod(shape.kernel)
    assert macs_three_ways(convolve, shape.x, shape.weight) == {expected}


@quick
@given(shape=shapes())
def test_a_transposed_convolution_scatters_the_kernel_for_each_input(shape: Shape) -> None:
    def convolve(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        options = {**shape.options, "padding": 0}
        return TRANSPOSED[shape.dimensions](x, weight, **options)

    inputs = shape.batch * shape.groups * shape.in_per_group * prod(shape.sizes)
    expected = inputs * shape.out_per_group * prod(shape.kernel)
    assert macs_three_ways(convolve, shape.x, shape.transposed_weight) == {expected}


@quick
@given(shape=shapes())
def test_a_bias_is_one_other_flop_for_each_output(shape: Shape) -> None:
    def convolve(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return PLAIN[shape.dimensions](x, weight, bias, **shape.options)

    channels = shape.groups * shape.out_per_group
    tensors = shape.x, shape.weight, torch.ones(channels)
    assert other_flops_both_ways(convolve, *tensors) == {shape.batch * channels * prod(shape.out_sizes)}


HAND_WORKED = {
    "3x3 of a UNet: 320 x 320 x 9 at 64x64, batch 2": (
        lambda x, w: F.conv2d(x, w, padding=1), (2, 320, 64, 64), (320, 320, 3, 3), 2 * 320 * 320 * 9 * 64 * 64,
    ),
    "strided: a quarter of the outputs": (
        lambda x, w: F.conv2d(x, w, stride=2, padding=1), (1, 8, 16, 16), (8, 8, 3, 3), 8 * 8 * 9 * 8 * 8,
    ),
    "dilated: taps further apart, not more of them": (
        lambda x, w: F.conv2d(x, w, dilation=2, padding=2), (1, 8, 16, 16), (8, 8, 3, 3), 8 * 8 * 9 * 16 * 16,
    ),
    "depthwise: one channel each": (
        lambda x, w: F.conv2d(x, w, padding=1, groups=12), (1, 12, 10, 10), (12, 1, 3, 3), 12 * 9 * 10 * 10,
    ),
    "1x1: a linear layer for each pixel": (F.conv2d, (1, 5, 7, 7), (3, 5, 1, 1), 5 * 3 * 49),
    "causal video: 3x3x3 after padding two frames in front": (
        lambda x, w: F.conv3d(F.pad(x, (1, 1, 1, 1, 2, 0)), w), (1, 4, 5, 6, 6), (4, 4, 3, 3, 3), 4 * 4 * 27 * 5 * 36,
    ),
    "a patch embedding: every pixel once": (
        lambda x, w: F.conv2d(x, w, stride=2), (1, 4, 32, 32), (1152, 4, 2, 2), 1152 * 4 * 32 * 32,
    ),
    "sound: a transposed convolution that makes it 4 times longer": (
        lambda x, w: F.conv_transpose1d(x, w, stride=4, padding=2), (1, 16, 50), (16, 8, 8), 16 * 50 * 8 * 8,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("convolve", "x", "weight", "macs"), HAND_WORKED.values(), ids=HAND_WORKED.keys())
def test_worked_out_by_hand(convolve: Any, x: tuple[int, ...], weight: tuple[int, ...], macs: int) -> None:
    cost = on_virtual(convolve, torch.empty(x), torch.empty(weight))
    assert kinds(cost) == {"convolution": macs}
    if prod(x) < 100_000:
        assert on_real(convolve, torch.ones(x), torch.ones(weight)).work.macs == macs


def test_string_padding_counts_the_padded_outputs() -> None:
    def convolve(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x, weight, padding="same")

    assert macs_three_ways(convolve, torch.ones(1, 2, 5, 5), torch.ones(3, 2, 3, 3)) == {3 * 2 * 9 * 25}


def test_an_unbatched_input_is_a_batch_of_one() -> None:
    assert macs_three_ways(F.conv2d, torch.ones(2, 5, 5), torch.ones(3, 2, 1, 1)) == {3 * 2 * 25}
