"""An accelerator as the time model sees it: what it reaches, not what its datasheet says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from diffprof.catalogue.accelerators import MIB, TERA, Accelerator
from diffprof.catalogue.efficiency import FittedNumbers, family_of, fitted_numbers
from diffprof.catalogue.efficiency_numbers import Efficiency

POWER_SHARPNESS = 3
"""How abruptly the clock falls where the power limit is reached: 1 from afar, infinity at once."""

USUAL_POWER_RATIO = 1.5
"""Power of a board against what its products would take, where its power is not known."""

VECTOR_JOULES_PER_TERAFLOP = {"turing": 10.0, "volta": 10.0}
"""Of single precision in chips of 12 nm: what a T4 needs for SDXL's decoder, set by hand."""

USUAL_CACHE_BYTES = 32 * MIB
BYTES_PER_SECOND_PER_MULTIPROCESSOR = 12e9
"""From which the number of multiprocessors follows where it is not known."""


@dataclass(frozen=True)
class DeviceModel:
    """What the time of an operation depends on."""

    name: str
    family: str
    efficiency: Efficiency
    multiprocessors: int
    bandwidth: float
    """Published, bytes a second."""
    cache_bytes: float
    peaks: Mapping[str, float]
    power_share: float
    """Of the peak in matrix products, what the board's power allows."""
    vector_power_share: float
    """The same in products without matrix cores."""
    board_power_watts: float | None
    host_link: float
    """Bytes a second from the host's memory."""
    is_geforce: bool = False
    is_processor: bool = False
    """A CPU launches and computes in turn; an accelerator computes while its host launches."""

    def peak(self, dtype: str, convolution: bool = False) -> float:
        """Published operations a second of products in a dtype, as torch computes them by default."""
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
        """The same with everything allowed that can be: single precision rounded to tf32 in all products."""
        tf32 = self.peaks.get("tf32", 0.0) if dtype in ("float32", "complex64") else 0.0
        return max(tf32, self.peak(dtype, convolution)) * self._matrix_factor(dtype)

    def _matrix_factor(self, dtype: str) -> float:
        """2 where the published peak is half of what the matrix cores do.

        GeForce cards are half as fast only where they accumulate in float32, which float16 need not do; boards for
        servers whose peak is published as half of that of the same chip have been measured above it.
        """
        is_half = self.peaks.get("float16", 0.0) <= HALVED * self._vector_peak and self.family in HALVED_FAMILIES
        return 2.0 if is_half and (dtype == "float16" or not self.is_geforce) else 1.0

    def has(self, dtype: str) -> bool:
        """Does it compute in this dtype, or must it be emulated?"""
        return dtype in self.peaks

    def product_rate(self, dtype: str, convolution: bool = False) -> float:
        """Operations a second that a large product reaches."""
        peak = self.peak(dtype, convolution)
        limited = self.power_share if self.uses_matrix_cores(dtype, convolution) else self.vector_power_share
        return peak * self.efficiency.product_share * self.efficiency.speed * limited

    def uses_matrix_cores(self, dtype: str, convolution: bool = False) -> bool:
        """Are products in a dtype done by matrix cores?"""
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
        """Elements a second of an operation that computes the address of each."""
        if self.is_processor:
            return self.efficiency.elements_per_clock * 1e9
        lanes = 64 if self.family in NARROW_FAMILIES else 128
        clock = self._vector_peak / (2 * lanes * self.multiprocessors)
        return min(max(clock, 1e9), 3e9) * self.multiprocessors * self.efficiency.elements_per_clock

    @property
    def effective_bandwidth(self) -> float:
        return self.bandwidth * self.efficiency.bandwidth_share


HALVED, HALVED_FAMILIES = 2.1, ("ampere-graphics", "ada", "blackwell-graphics")
"""Matrix against vector operations of chips that are not as fast as they could be."""

AMD_FAMILIES = ("cdna", "rdna")
WITHOUT_MATRIX_CORES = ("maxwell", "pascal")

NARROW_FAMILIES = ("pascal", "volta", "turing", "ampere")
"""Whose multiprocessors have 64 lanes of single precision instead of 128."""

MATRIX_DTYPES = ("float16", "bfloat16", "float8", "int8", "float4", "tf32")
DOUBLE_PRECISION = 32
"""Single against double precision on most chips; those for science have 2."""

USUAL_HOST_LINK = 25e9
PROCESSOR = "cpu"
"""The architecture of accelerators that are none."""


def device_of(accelerator: Accelerator, numbers: FittedNumbers | None = None) -> DeviceModel:
    """The device that an accelerator is, by the fitted numbers of its family."""
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
    """The share of the peak in matrix products that the board's power allows: small boards cannot sustain it."""
    peaks = accelerator.peak_flops_per_second
    peak = peaks.get("float16") or peaks.get("bfloat16")
    if not peak or accelerator.architecture == PROCESSOR:
        return 1.0
    return _power_limit(accelerator, efficiency.joules_per_teraflop * peak / TERA)


def vector_power_share(accelerator: Accelerator) -> float:
    """The same without matrix cores, which take far more energy for a product."""
    joules = VECTOR_JOULES_PER_TERAFLOP.get(accelerator.architecture)
    return _power_limit(accelerator, joules * accelerator.peak_flops_per_second["float32"] / TERA) if joules else 1.0


def _power_limit(accelerator: Accelerator, needed_watts: float) -> float:
    ratio = accelerator.board_power_watts / needed_watts if accelerator.board_power_watts else USUAL_POWER_RATIO
    return float((1 + ratio**-POWER_SHARPNESS) ** (-1 / POWER_SHARPNESS))
