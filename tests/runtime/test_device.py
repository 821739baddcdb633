"""The device of a pipeline and its peak: published where it is known, timed on a CPU, and never made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from diffprof.runtime import device as hardware
from diffprof.runtime.device import BUDGET_NS, LARGEST, SMALLEST, TimedPeak, best_rate, device_of, timed_peak
from tests.runtime.timing.fakes import FakeClock
from tests.small_pipelines import SMALL_PIPELINES

GIB = 1024**3
MILLISECOND = 1_000_000


class Pipeline:
    """As much of a pipeline as the question takes."""

    config: dict[str, Any] = {}  # noqa: RUF012  a fake

    def __init__(self, place: str, *dtypes: torch.dtype) -> None:
        self._execution_device = place
        for number, dtype in enumerate(dtypes):
            setattr(self, f"part_{number}", torch.nn.Linear(2, 2).to(dtype))


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A machine with the given GPU."""

    def pretend(name: str, gib: float = 24, multiprocessors: int = 128) -> None:
        properties = SimpleNamespace(
            name=name, total_memory=round(gib * GIB), multi_processor_count=multiprocessors, uuid="x"
        )
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda place: properties)

    return pretend


@pytest.fixture
def float32_as_set() -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    yield
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


@pytest.fixture
def untimed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[torch.dtype, int]]:
    """No product is timed; what was asked for is kept."""
    asked: list[tuple[torch.dtype, int]] = []

    def peak(dtype: torch.dtype, threads: int) -> TimedPeak:
        asked.append((dtype, threads))
        return TimedPeak(4e10, 20, 1024)

    monkeypatch.setattr(hardware, "timed_peak", peak)
    return asked


def test_a_known_gpu_has_its_published_peaks(gpu: Callable[..., None], float32_as_set: None) -> None:
    torch.backends.cuda.matmul.allow_tf32 = False
    gpu("NVIDIA A100-SXM4-80GB", 79.2, 108)
    device = device_of(Pipeline("cuda:0"))
    assert (device.name, device.kind, device.memory_bytes) == ("NVIDIA A100-SXM4-80GB", "cuda", round(79.2 * GIB))
    assert device.peak_flops_per_second == {"float32": 19.5e12, "bfloat16": 312e12, "float16": 312e12, "int8": 624e12}
    assert device.peak_source is not None
    assert device.peak_source.startswith("NVIDIA A100 datasheet (80 GB SXM): dense, accumulated in float32;")
    assert device.threads is None


def test_products_in_8_bits_have_their_peaks_where_there_are_any(gpu: Callable[..., None]) -> None:
    gpu("NVIDIA H100 80GB HBM3", 79.2, 132)
    peaks = device_of(Pipeline("cuda")).peak_flops_per_second
    assert (peaks["int8"], peaks["float8_e4m3fn"]) == (1979e12, 1979e12)


def test_where_torch_may_use_tf32_that_is_the_peak_of_float32(gpu: Callable[..., None], float32_as_set: None) -> None:
    torch.backends.cuda.matmul.allow_tf32 = True
    gpu("NVIDIA A100-SXM4-80GB", 79.2, 108)
    device = device_of(Pipeline("cuda"))
    assert device.peak_flops_per_second["float32"] == 156e12
    assert device.peak_source is not None and device.peak_source.endswith(
        "float32 is that of TF32, which torch is allowed to use"
    )


@pytest.mark.parametrize("allowed", [True, False])
def test_convolutions_have_their_own_switch(gpu: Callable[..., None], float32_as_set: None, allowed: bool) -> None:
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = allowed
    gpu("NVIDIA L4", 22, 58)
    source = device_of(Pipeline("cuda")).peak_source
    assert source is not None and ("though convolutions may use it" in source) is allowed


def test_a_gpu_without_tf32_has_one_peak_for_float32(gpu: Callable[..., None], float32_as_set: None) -> None:
    torch.backends.cuda.matmul.allow_tf32 = True
    gpu("Tesla T4", 15, 40)
    device = device_of(Pipeline("cuda"))
    assert device.peak_flops_per_second == {"float32": 8.1e12, "float16": 65e12, "int8": 130e12}
    assert device.peak_source == "NVIDIA T4 datasheet: dense, accumulated in float32"


def test_the_newer_switch_of_torch_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    for precision, allowed in (("tf32", True), ("ieee", False), ("none", False)):
        switches = SimpleNamespace(fp32_precision=precision)
        monkeypatch.setattr(torch.backends.cuda, "matmul", switches)
        assert hardware._tf32_in_products("cuda") is allowed


@pytest.mark.parametrize(
    ("version", "variable", "peak"),
    [("2.9.1", None, 163.4e12), ("2.9.1", "1", 653.7e12), ("2.10.0+rocm7.1", None, 653.7e12)],
)
def test_before_torch_2_10_an_amd_gpu_needed_a_variable_for_tf32(
    version: str,
    variable: str | None,
    peak: float,
    gpu: Callable[..., None],
    float32_as_set: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.version, "hip", "7.1")
    monkeypatch.setattr(torch, "__version__", version)
    monkeypatch.delenv("HIPBLASLT_ALLOW_TF32", raising=False)
    if variable is not None:
        monkeypatch.setenv("HIPBLASLT_ALLOW_TF32", variable)
    torch.backends.cuda.matmul.allow_tf32 = True
    gpu("AMD Instinct MI300X", 192, 304)
    assert device_of(Pipeline("cuda")).peak_flops_per_second["float32"] == peak


def test_an_intel_gpu_multiplies_in_tf32_where_onednn_may(
    monkeypatch: pytest.MonkeyPatch, float32_as_set: None
) -> None:
    name = "Intel(R) Data Center GPU Max 1100"
    properties = SimpleNamespace(name=name, total_memory=48 * GIB, multi_processor_count=None)
    monkeypatch.setattr(torch.xpu, "get_device_properties", lambda place: properties)
    torch.backends.cuda.matmul.allow_tf32 = True
    device = device_of(Pipeline("xpu"))
    assert device.peak_flops_per_second["float32"] == 22.2e12, "the switch of CUDA says nothing about it"
    assert device.peak_source is not None and "convolutions" not in device.peak_source
    monkeypatch.setattr(torch.backends.mkldnn, "matmul", SimpleNamespace(fp32_precision="tf32"), raising=False)
    assert device_of(Pipeline("xpu")).peak_flops_per_second["float32"] == 177.8e12


def test_an_unknown_accelerator_has_no_peak_and_says_so(gpu: Callable[..., None]) -> None:
    gpu("NVIDIA GeForce RTX 5090 D", 32, 170)
    device = device_of(Pipeline("cuda"))
    assert device.peak_flops_per_second == {}
    assert device.peak_source == "no published peak is known for NVIDIA GeForce RTX 5090 D"
    assert device.memory_bytes == 32 * GIB


def test_metal_has_a_name_and_memory_but_no_published_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "get_name", lambda: "Apple M2", raising=False)
    monkeypatch.setattr(torch.mps, "recommended_max_memory", lambda: 10 * GIB)
    device = device_of(Pipeline("mps"))
    assert (device.name, device.kind, device.memory_bytes) == ("Apple M2", "mps", 10 * GIB)
    assert device.peak_flops_per_second == {}


def test_a_device_without_properties_in_torch_is_still_named() -> None:
    device = device_of(Pipeline("meta"))
    assert device.kind == "meta"
    assert device.memory_bytes is None
    assert device.peak_flops_per_second == {}


def test_a_cpu_is_timed_for_the_dtypes_of_the_components_only(untimed: list[tuple[torch.dtype, int]]) -> None:
    torch.set_num_threads(1)
    device = device_of(Pipeline("cpu", torch.bfloat16, torch.float32, torch.bfloat16))
    assert untimed == [(torch.float32, 1), (torch.bfloat16, 1)]
    assert device.peak_flops_per_second == {"float32": 4e10, "bfloat16": 4e10}
    assert device.peak_source == (
        "matrix products timed here: float32 best of 20 of up to 1024x1024, bfloat16 best of 20 of up to 1024x1024"
    )
    assert (device.kind, device.threads) == ("cpu", 1)
    assert device.name
    assert device.memory_bytes is not None and device.memory_bytes > GIB // 4


def test_a_dtype_that_is_only_stored_is_not_timed(untimed: list[tuple[torch.dtype, int]]) -> None:
    device = device_of(Pipeline("cpu", torch.float8_e4m3fn))
    assert untimed == []
    assert device.peak_flops_per_second == {}
    assert device.peak_source is not None and device.peak_source.startswith("nothing was timed")


def test_a_real_pipeline_on_this_cpu(untimed: list[tuple[torch.dtype, int]]) -> None:
    device = device_of(SMALL_PIPELINES["stable-diffusion"].build())
    assert device.kind == "cpu"
    assert set(device.peak_flops_per_second) == {"float32"}


class FakeProducts:
    """Products that take as long as a rate says, on a clock of their own."""

    def __init__(self, nanoseconds: Callable[[int], float]) -> None:
        self.clock = FakeClock()
        self.sizes: list[int] = []
        self._nanoseconds = nanoseconds

    def __call__(self, size: int) -> Callable[[], object]:
        def multiply() -> None:
            self.sizes.append(size)
            self.clock.now += round(self._nanoseconds(size))

        return multiply


def test_a_fast_processor_is_timed_with_the_largest_product() -> None:
    products = FakeProducts(lambda size: 2 * size**3 / 2_000)
    peak = best_rate(products, products.clock)
    assert peak == TimedPeak(pytest.approx(2e12, rel=1e-3), 25, LARGEST)
    assert products.sizes == [size for size in (128, 256, 512, 1024, 2048) for _ in range(6)]


def test_a_slow_processor_is_timed_with_a_smaller_one() -> None:
    products = FakeProducts(lambda size: 2 * size**3 / 50)
    assert best_rate(products, products.clock).size == 1024
    assert products.clock.now <= BUDGET_NS


def test_a_dtype_that_is_emulated_does_not_hold_up_the_run() -> None:
    """Measured on a real CPU: float16 at 4 GFLOP/s for 128x128, and 0.4 for 2048x2048, which takes 43 seconds."""
    products = FakeProducts(lambda size: 2 * size**3 / 4 * (size / 128) ** 0.8)
    peak = best_rate(products, products.clock)
    assert products.clock.now <= BUDGET_NS
    assert peak.flops_per_second == pytest.approx(4e9, rel=1e-3)


def test_even_the_slowest_processor_has_a_peak() -> None:
    products = FakeProducts(lambda size: 900 * MILLISECOND)
    assert best_rate(products, products.clock) == TimedPeak(2 * SMALLEST**3 / 0.9, 1, SMALLEST)


def test_the_best_of_several_is_taken() -> None:
    durations = iter([9, 5, 7, 3, 8, 6] * 10)
    products = FakeProducts(lambda size: next(durations) * 100 * MILLISECOND / 100)
    peak = best_rate(products, products.clock)
    assert peak.flops_per_second == max(2 * size**3 / 0.003 for size in set(products.sizes))


def test_a_product_is_timed_for_real_once_and_leaves_the_random_numbers_alone() -> None:
    timed_peak.cache_clear()
    state = torch.random.get_rng_state()
    with torch.autocast("cpu", torch.bfloat16):
        peak = timed_peak(torch.float32, torch.get_num_threads())
    assert peak.flops_per_second > 1e7
    assert peak.products >= 1
    assert timed_peak(torch.float32, torch.get_num_threads()) is peak
    assert torch.equal(torch.random.get_rng_state(), state)
    timed_peak.cache_clear()


def test_the_processor_is_named_as_the_system_names_it(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n")
    assert hardware.processor_name(tmp_path / "cpuinfo") == "Some CPU @ 3 GHz"
    assert hardware.processor_name(tmp_path / "missing")


def test_tf32_whose_peak_is_not_known_is_not_taken_for_float32(
    gpu: Callable[..., None], float32_as_set: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.backends.cuda.matmul.allow_tf32 = True
    gpu("NVIDIA L4", 22, 58)
    known = hardware.match_accelerator("NVIDIA L4", 58, 22 * GIB)
    assert known is not None
    peaks = {name: peak for name, peak in known.peak_flops_per_second.items() if name != "tf32"}
    without = replace(known, peak_flops_per_second=peaks)
    monkeypatch.setattr(hardware, "match_accelerator", lambda *about: without)
    device = device_of(Pipeline("cuda"))
    assert "float32" not in device.peak_flops_per_second
    assert device.peak_source is not None and "TF32, whose peak is not known" in device.peak_source
    assert device.bytes_per_second == known.bandwidth_bytes_per_second


def test_float16_that_may_be_accumulated_in_float16_has_no_published_peak(
    gpu: Callable[..., None], float32_as_set: None
) -> None:
    gpu("NVIDIA L4", 22, 58)
    assert "float16" in device_of(Pipeline("cuda")).peak_flops_per_second
    torch.backends.cuda.matmul.allow_fp16_accumulation = True
    try:
        device = device_of(Pipeline("cuda"))
    finally:
        torch.backends.cuda.matmul.allow_fp16_accumulation = False
    assert "float16" not in device.peak_flops_per_second
    assert "bfloat16" in device.peak_flops_per_second
