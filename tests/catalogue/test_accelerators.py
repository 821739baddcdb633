"""The published figures of accelerators are whole, plausible, and found by the name that torch gives."""

from __future__ import annotations

import pytest

from diffprof.catalogue.accelerators import Accelerator, accelerators, find_accelerator

ALL = accelerators()
NAMES = [f"{accelerator.names[0]}, {accelerator.memory_bytes >> 30} GiB" for accelerator in ALL]
GIB = 1024**3
DTYPES = {"float32", "tf32", "bfloat16", "float16", "float8", "int8"}


@pytest.mark.parametrize("accelerator", ALL, ids=NAMES)
def test_every_accelerator_has_figures_in_the_right_units_and_a_source(accelerator: Accelerator) -> None:
    assert set(accelerator.peak_flops_per_second) <= DTYPES
    assert all(5e12 < peak < 1e16 for peak in accelerator.peak_flops_per_second.values())
    assert 8 * GIB <= accelerator.memory_bytes <= 300 * GIB
    assert 2e11 < accelerator.bandwidth_bytes_per_second <= 8e12
    assert any(maker in accelerator.source for maker in ("NVIDIA", "AMD"))


@pytest.mark.parametrize("accelerator", ALL, ids=NAMES)
def test_a_shorter_dtype_is_never_slower(accelerator: Accelerator) -> None:
    peaks = accelerator.peak_flops_per_second
    order = [peaks[dtype] for dtype in ("float32", "tf32", "float16", "float8") if dtype in peaks]
    assert order == sorted(order)
    assert peaks.get("bfloat16", peaks.get("float16")) == peaks.get("float16", peaks.get("bfloat16"))
    assert peaks.get("int8", float("inf")) >= peaks.get("float8", peaks.get("float16", 0))


@pytest.mark.parametrize("accelerator", ALL, ids=NAMES)
def test_every_accelerator_is_found_by_each_of_its_names(accelerator: Accelerator) -> None:
    for name in accelerator.names:
        for spelling in (name, name.removeprefix("NVIDIA "), name.upper()):
            found = find_accelerator(spelling, accelerator.multiprocessors, accelerator.memory_bytes)
            assert found is accelerator


@pytest.mark.parametrize("accelerator", [a for a in ALL if "GeForce RTX" in a.names[0]], ids=lambda a: a.names[0])
def test_geforce_cards_are_as_fast_as_with_accumulation_in_float32(accelerator: Accelerator) -> None:
    peaks = accelerator.peak_flops_per_second
    turing = "tf32" not in peaks
    assert peaks["float16"] / peaks["float32"] == pytest.approx(4 if turing else 2, rel=0.01)
    assert turing or peaks["tf32"] == peaks["float32"]


def test_one_name_for_two_chips_is_told_apart_by_their_multiprocessors() -> None:
    whole = find_accelerator("AMD Instinct MI250X/MI250", 110, 64 * GIB)
    smaller = find_accelerator("AMD Instinct MI250X/MI250", 104, 64 * GIB)
    assert whole is not None and smaller is not None
    assert whole.peak_flops_per_second["bfloat16"] == 191.5e12
    assert smaller.peak_flops_per_second["bfloat16"] == 181.05e12


def test_one_name_for_two_memories_is_told_apart_by_the_memory() -> None:
    for gib in (8, 16):
        found = find_accelerator("NVIDIA GeForce RTX 4060 Ti", 34, round(gib * 0.97 * GIB))
        assert found is not None and found.memory_bytes == gib * GIB


@pytest.mark.parametrize(
    ("name", "multiprocessors"),
    [
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 76),
        ("NVIDIA GeForce RTX 4090 D", 114),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 14),
        ("AMD Instinct MI300X", 38),
        ("NVIDIA A1", None),
        ("Apple M3 Max", None),
        ("", None),
    ],
)
def test_what_only_sounds_alike_is_not_taken_for_it(name: str, multiprocessors: int | None) -> None:
    assert find_accelerator(name, multiprocessors, 16 * GIB) is None


@pytest.mark.parametrize(
    ("name", "dtype", "teraflops"),
    [
        ("NVIDIA A100-SXM4-80GB", "bfloat16", 312),
        ("NVIDIA H100 80GB HBM3", "bfloat16", 989.5),
        ("NVIDIA H100 PCIe", "float32", 51),
        ("NVIDIA L4", "float16", 121),
        ("Tesla T4", "float16", 65),
        ("NVIDIA GeForce RTX 4090", "float16", 165.2),
        ("NVIDIA GeForce RTX 3090", "bfloat16", 71),
    ],
)
def test_some_figures_that_everybody_knows(name: str, dtype: str, teraflops: float) -> None:
    found = find_accelerator(name)
    assert found is not None and found.peak_flops_per_second[dtype] == teraflops * 10**12
