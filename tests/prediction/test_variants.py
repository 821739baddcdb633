"""The same generation done otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.errors import RequestError
from diffprof.prediction.variants import leave_out, quantize, skip_calls
from diffprof.prediction.workload import ATTENTION, MEMORY, Workload
from tests.prediction.samples import load_like, workload_of_loads

LINEAR = load_like(macs=100, read_bytes=1000, weight_bytes=800)


def test_packed_weights_are_unpacked_before_each_product() -> None:
    (call,) = quantize(workload_of_loads(LINEAR), {"unet": "bitsandbytes:nf4"}).calls
    product, unpacking = call.loads
    assert product == LINEAR  # computed in its own dtype, from the unpacked copy
    assert (unpacking.sort, unpacking.kind) == (MEMORY, "dequantization")
    assert (unpacking.read_bytes, unpacking.written_bytes, unpacking.elements) == (400, 400, 400)


@pytest.mark.parametrize("library", ["torchao", "quanto"])
def test_weights_of_four_bits_are_unpacked_again_for_every_sixteen_rows(library: str) -> None:
    many = replace(LINEAR, rows=16 * 300 - 1)
    (call,) = quantize(workload_of_loads(LINEAR, many), {"unet": f"{library}:int4"}).calls
    assert [load.elements for load in call.loads if load.kind == "dequantization"] == [400, 400 * 300 // 3]


def test_products_of_eight_bits_read_half_of_the_weights() -> None:
    (call,) = quantize(workload_of_loads(LINEAR), {"unet": "torchao:int8-dynamic"}).calls
    (product,) = call.loads
    assert (product.dtype, product.read_bytes) == ("int8", 1000 - 400)


def test_only_linear_layers_of_the_named_component_are_quantized() -> None:
    workload = workload_of_loads(load_like(ATTENTION, "attention"), load_like(kind="matmul"))
    assert quantize(workload, {"unet": "bitsandbytes:nf4"}) == workload
    assert quantize(workload_of_loads(LINEAR), {"vae": "bitsandbytes:nf4"}) == workload_of_loads(LINEAR)


def test_layers_cast_one_by_one_are_moved_once_more() -> None:
    (call,) = quantize(workload_of_loads(LINEAR), {}, {"unet": "float8_e4m3fn"}).calls
    assert [load.kind for load in call.loads] == ["linear", "dequantization"]


def test_components_that_are_left_out_are_not_called() -> None:
    both = Workload((*workload_of_loads().calls, *workload_of_loads(component="vae").calls), 1)
    assert [call.component for call in leave_out(both, {"vae"}).calls] == ["unet"]


def test_a_cache_skips_its_share_of_the_calls_in_the_loop() -> None:
    looped, outside = workload_of_loads(times=20), workload_of_loads(times=20, in_loop=False)
    both = Workload((*looped.calls, *outside.calls), 20)
    assert [call.times for call in skip_calls(both, frozenset({"unet"}), 0.25).calls] == [15, 20]
    assert skip_calls(both, frozenset({"transformer"}), 0.25) == both


def test_not_all_calls_can_be_skipped() -> None:
    with pytest.raises(RequestError, match="from 0 to below 1, not 1"):
        skip_calls(workload_of_loads(), frozenset(), 1.0)
