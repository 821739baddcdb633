"""An accelerator in the time model: the rates that it achieves, not those of its datasheet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from diffprof.catalogue.accelerators import MIB, TERA, Accelerator
from diffprof.catalogue.efficiency import FittedNumbers, family_of, fitted_numbers
from diffprof.catalogue.efficiency_numbers import Efficiency

POWER_SHARPNESS = 3
"""How abruptly the clock falls near the power limit: 1 is gradual, infinity is abrupt."""

USUAL_POWER_RATIO = 1.5
"""The ratio of a board's power to that of its products, if its power is unknown."""

VECTOR_JOULES_PER_TERAFLOP = {"turing": 10.0, "volta": 10.0}
"""Energy of single-precision products in 12 nm chips, set by hand from a T4 with SDXL's decoder."""

USUAL_CACHE_BYTES = 32 * MIB
BYTES_PER_SECOND_PER_MULTIPROCESSOR = 12e9
"""Used to estimate the number of multiprocessors if it is unknown."""


@dataclass(frozen=True)
class DeviceModel:
    """The properties of a device that determine the time of an operation."""

    name: str
    family: str
    efficiency: Efficiency
    multiprocessors: int
    bandwidth: float
    """Published bandwidth in bytes per second."""
    cache_bytes: float
    peaks: Mapping[str, float]
    power_share: float
    """The share of the peak of matrix products that the board's power allows."""
    vector_power_share: float
    """The same share for products without matrix cores."""
    board_power_watts: float | None
    host_link: float
    """Bytes per second from the host's memory."""
    is_geforce: bool = False
    is_processor: bool = False
    """A CPU launches and computes in turn; an accelerator computes while its host launches."""

    def peak(self, dtype: str, convolution: bool = False) -> float:
        """Published operations per second of products in a dtype, as torch computes them by default."""
        peaks = self.peaks
        if dtype in peaks and dtype != "float32":
            return peaks[dtype]
        if dtype in ("float8_e4m3fn", "float8_e5m2"):
            return peaks.get("float8", peaks.get("float16", 0.0)) or self._vector_peak
        if dtype in ("float32", "complex64") and convolution:
            return peaks.get("tf32", self._vector_peak)
        if dtype in ("float64", "complex128"):
            return self._vector_peak / DOUBLE_PRECISION
        return self._vector_peak

    def fastest_peak(self, dtype: str, convolution: bool = False) -> float:
        """The published peak if TF32 is allowed for all float32 products."""
        tf32 = self.peaks.get("tf32", 0.0) if dtype in ("float32", "complex64") else 0.0
        return max(tf32, self.peak(dtype, convolution)) * self._matrix_factor(dtype)

    def _matrix_factor(self, dtype: str) -> float:
        """2 if the published peak is half of what the matrix cores achieve.

        GeForce cards are half as fast only where they accumulate in float32, which float16 need not do; boards for
        servers whose peak is published as half of that of the same chip have been measured above it.
        """
        is_half = self.peaks.get("float16", 0.0) <= HALVED * self._vector_peak and self.family in HALVED_FAMILIES
        return 2.0 if is_half and (dtype == "float16" or not self.is_geforce) else 1.0

    def has(self, dtype: str) -> bool:
        """Whether it computes in this dtype without emulation."""
        return dtype in self.peaks

    def product_rate(self, dtype: str, convolution: bool = False) -> float:
        """Operations per second that a large product achieves."""
        peak = self.peak(dtype, convolution)
        limited = self.power_share if self.uses_matrix_cores(dtype, convolution) else self.vector_power_share
        return peak * self.efficiency.product_share * self.efficiency.speed * limited

    def uses_matrix_cores(self, dtype: str, convolution: bool = False) -> bool:
        """Whether matrix cores compute products in this dtype."""
        if self.family in WITHOUT_MATRIX_CORES:
            return False
        is_single = dtype in ("float32", "complex64")
        return (dtype in MATRIX_DTYPES and dtype in self.peaks) or (is_single and convolution and "tf32" in self.peaks)

    @property
    def is_amd(self) -> bool:
        return self.family.startswith(AMD_FAMILIES)

    @property
    def _vector_peak(self) -> float:
        return self.peaks.get("float32") or min(self.peaks.values()) / 2

    @property
    def element_rate(self) -> float:
        """Elements per second of an operation that computes the index of each."""
        if self.is_processor:
            return self.efficiency.elements_per_clock * 1e9
        return self._clock * self.multiprocessors * self.efficiency.elements_per_clock

    @property
    def score_rate(self) -> float:
        """Scores of attention per second that vector lanes scale, exponentiate, sum and round between the products."""
        return self._clock * self.multiprocessors * self._lanes / MOST_LANES * self.efficiency.scores_per_clock

    @property
    def has_flash_attention(self) -> bool:
        """Whether PyTorch's flash attention runs on it; otherwise, a slower kernel does."""
        return self.family not in WITHOUT_FLASH_ATTENTION

    def attention_share(self, dtype: str) -> float:
        """Speed of the products in fused attention, relative to a large product.

        Where instructions limit them and not the matrix cores, a chip with slower cores comes closer to its peak.
        """
        share, full = self.efficiency.attention_share, FULL_OPERATIONS_PER_CLOCK.get(self.family, 0)
        own = self.peak(dtype) / (self._clock * self.multiprocessors)
        is_cut = own < full / 2
        return min(WHOLE_ATTENTION_SHARE, share * full / own) if is_cut else share

    @property
    def _lanes(self) -> int:
        return MOST_LANES // 2 if self.family in NARROW_FAMILIES else MOST_LANES

    @property
    def _clock(self) -> float:
        return min(max(self._vector_peak / (2 * self._lanes * self.multiprocessors), 1e9), 3e9)

    @property
    def effective_bandwidth(self) -> float:
        return self.bandwidth * self.efficiency.bandwidth_share


HALVED, HALVED_FAMILIES = 2.1, ("ampere-graphics", "ada", "blackwell-graphics")
"""Matrix against vector operations of chips that are not as fast as they could be."""

AMD_FAMILIES = ("cdna", "rdna")
WITHOUT_MATRIX_CORES = ("maxwell", "pascal")

WITHOUT_FLASH_ATTENTION = ("maxwell", "pascal", "volta", "turing")

MOST_LANES = 128
"""Single-precision lanes of a multiprocessor."""

NARROW_FAMILIES = ("pascal", "volta", "turing", "ampere")
"""Families whose multiprocessors have half of them."""

FULL_OPERATIONS_PER_CLOCK = {"hopper": 4096}
"""Of the matrix cores of a multiprocessor in 16 bits: flash attention uses instructions that reach only a part of it.

The H20 is the chip of the H100 with cores of a quarter of this speed.
"""

WHOLE_ATTENTION_SHARE = 0.95
"""Speed of the products in fused attention where the matrix cores limit them."""

MATRIX_DTYPES = ("float16", "bfloat16", "float8", "int8", "float4", "tf32")
DOUBLE_PRECISION = 32
"""The ratio of single to double precision on most chips; it is 2 on those for science."""

USUAL_HOST_LINK = 25e9
PROCESSOR = "cpu"
"""The architecture of CPUs."""


def device_of(accelerator: Accelerator, numbers: FittedNumbers | None = None) -> DeviceModel:
    """The device model of an accelerator, with the fitted numbers of its family."""
    efficiency = (numbers or fitted_numbers()).efficiency(accelerator)
    bandwidth = accelerator.bandwidth_bytes_per_second
    is_processor = accelerator.architecture == PROCESSOR
    return DeviceModel(
        name=accelerator.name,
        family=family_of(accelerator),
        efficiency=efficiency,
        multiprocessors=1 if is_processor else accelerator.multiprocessors or _usual_multiprocessors(bandwidth),
        bandwidth=bandwidth,
        cache_bytes=accelerator.l2_cache_bytes or USUAL_CACHE_BYTES,
        peaks=accelerator.peak_flops_per_second,
        power_share=power_share(accelerator, efficiency),
        vector_power_share=vector_power_share(accelerator),
        board_power_watts=accelerator.board_power_watts,
        host_link=accelerator.host_link_bytes_per_second or USUAL_HOST_LINK,
        is_geforce=any("GeForce" in name for name in accelerator.reported_names),
        is_processor=is_processor,
    )


def basis_of(accelerator: Accelerator) -> str:
    """What the numbers of an accelerator were fitted to: its own times, those of its family, or neither."""
    numbers = fitted_numbers()
    if numbers.is_known(accelerator):
        return "device"
    return "family" if family_of(accelerator) in numbers.families else "none"


def _usual_multiprocessors(bandwidth: float) -> int:
    return max(1, round(bandwidth / BYTES_PER_SECOND_PER_MULTIPROCESSOR))


def power_share(accelerator: Accelerator, efficiency: Efficiency) -> float:
    """The share of the peak of matrix products that the board's power allows."""
    peaks = accelerator.peak_flops_per_second
    peak = peaks.get("float16") or peaks.get("bfloat16")
    if not peak or accelerator.architecture == PROCESSOR:
        return 1.0
    return _power_limit(accelerator, efficiency.joules_per_teraflop * peak / TERA)


def vector_power_share(accelerator: Accelerator) -> float:
    """The same share without matrix cores, where a product takes far more energy."""
    joules = VECTOR_JOULES_PER_TERAFLOP.get(accelerator.architecture)
    return _power_limit(accelerator, joules * accelerator.peak_flops_per_second["float32"] / TERA) if joules else 1.0


def _power_limit(accelerator: Accelerator, needed_watts: float) -> float:
    ratio = accelerator.board_power_watts / needed_watts if accelerator.board_power_watts else USUAL_POWER_RATIO
    return float((1 + ratio**-POWER_SHARPNESS) ** (-1 / POWER_SHARPNESS))
