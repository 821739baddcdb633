"""Single kernels: what sizes, heads and makers do to their time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.catalogue.accelerators import find_accelerator
from diffprof.prediction.device import device_of
from diffprof.prediction.kernel_times import kernel_times
from diffprof.prediction.load_table import load_table
from diffprof.prediction.workload import ATTENTION, CONVOLUTION, GEMM, CallLoads, Load, Loads, Workload

NVIDIA, AMD = "h100-sxm", "mi300x"


def compute_seconds(load: Load, on: str) -> float:
    """What the products of one load take on a device."""
    table = load_table(Workload((CallLoads("unet", "forward", 1, True, 0, Loads((load,))),), 1))
    return float(kernel_times(table, device_of(find_accelerator(on))).compute[0])


def product(rows: int, columns: int, inner: int) -> Load:
    read, written = 2 * inner * (rows + columns), 2 * rows * columns
    macs = rows * columns * inner
    return Load(GEMM, "linear", "bfloat16", 1, macs, 0, read, written, rows=rows, columns=columns, inner=inner)


def attention(queries: int, keys: int, head: int, heads: int = 1) -> Load:
    macs = 2 * heads * queries * keys * head
    moved = 2 * heads * head * (queries + 2 * keys)
    return Load(
        ATTENTION, "attention", "bfloat16", 1, macs, 0, moved, 2 * heads * queries * head,
        batch=heads, rows=queries, columns=keys, inner=head,
    )  # fmt: skip


def test_the_fewer_values_can_be_loaded_at_once_the_slower_is_a_product() -> None:
    seconds = [compute_seconds(product(4096, 4096, inner), NVIDIA) / inner for inner in (4096, 4092, 4094, 4095)]
    assert seconds == sorted(seconds)
    assert seconds[-1] > 5 * seconds[0]


def test_amd_loads_pairs_as_fast_as_eights() -> None:
    per_inner = [compute_seconds(product(4096, 4096, inner), AMD) / inner for inner in (4096, 4094, 4095)]
    assert per_inner[1] == pytest.approx(per_inner[0])
    assert per_inner[2] > 3 * per_inner[0]


@pytest.mark.parametrize(("device", "most"), [(NVIDIA, 1.6), (AMD, 2.1)])
def test_few_keys_take_longer_for_each_of_them(device: str, most: float) -> None:
    few, many = (compute_seconds(attention(32256, keys, 128, heads=12), device) / keys for keys in (512, 32256))
    assert 1.1 * many < few < most * many


def test_small_heads_take_longer_for_each_product_since_each_score_takes_its_time() -> None:
    per_product = [compute_seconds(attention(8192, 8192, head, heads=16), NVIDIA) / head for head in (32, 64, 128)]
    assert per_product == sorted(per_product, reverse=True)
    # Scores are a smaller part where the matrix cores are slow: an RTX 4090 has an eighth of them in a multiprocessor.
    slow = [compute_seconds(attention(8192, 8192, head, heads=16), "rtx-4090") / head for head in (64, 128)]
    assert slow[0] / slow[1] < per_product[1] / per_product[2]


def test_a_mask_costs_more_where_matrix_cores_are_fast_and_nothing_without_flash_attention() -> None:
    def slower(device: str) -> float:
        plain = attention(8192, 8192, 128, heads=16)
        return compute_seconds(replace(plain, masked=True), device) / compute_seconds(plain, device)

    assert slower(NVIDIA) > slower("l20") > 1
    assert slower("t4") == 1


def test_heads_that_no_flash_kernel_takes_are_slower() -> None:
    per_product = [compute_seconds(attention(16384, 16384, head), NVIDIA) / head for head in (256, 512)]
    assert per_product[1] > 1.4 * per_product[0]


def test_attention_comes_closer_to_the_peak_of_a_chip_whose_matrix_cores_are_cut() -> None:
    device = device_of(find_accelerator("h20"))
    assert device.attention_share("bfloat16") == 0.95 > device.efficiency.attention_share
    assert device_of(find_accelerator("h200")).attention_share("bfloat16") == device.efficiency.attention_share


def test_a_single_wide_head_is_spread_over_twice_as_many_blocks() -> None:
    # 1,024 queries are 8 blocks of 128, or 16 of 64 where a head leaves room for no more.
    wide, usual = (compute_seconds(attention(1024, 4096, head), NVIDIA) / head for head in (256, 128))
    assert 0.4 * usual < wide < usual / 2


def test_small_matrices_of_a_large_batch_take_their_time_on_amd() -> None:
    small = replace(product(8, 8, 64), batch=304 * 100)
    assert compute_seconds(small, AMD) == pytest.approx(100 * 4.5e-6)
    assert compute_seconds(small, NVIDIA) < 0.2 * compute_seconds(small, AMD)


def test_patches_of_an_image_are_slower_than_other_narrow_convolutions_but_not_on_amd() -> None:
    def seconds(taps: int, device: str) -> float:
        inner = 3 * taps
        return compute_seconds(replace(product(4096, 768, inner), sort=CONVOLUTION, taps=taps), device) / inner

    assert seconds(256, NVIDIA) > 2 * seconds(16, NVIDIA)
    assert seconds(256, AMD) < 2 * seconds(16, AMD)
