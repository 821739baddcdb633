"""What of a profile its time depends on."""

from __future__ import annotations

from diffprof.prediction.workload import ATTENTION, CONVOLUTION, GEMM, MEMORY, VIEW, Loads, load_of, workload_of
from diffprof.record.profile import Operation, Work
from diffprof.record.tensors import OperationShapes, Shape
from tests.prediction.samples import load_like, stable_diffusion_profile


def operation(name: str, kind: str, inputs: tuple[Shape, ...], out: Shape, count: int = 1, **work: int) -> Operation:
    return Operation(name, kind, OperationShapes(inputs, (out,)), "float16", count, Work(**work) * count)


def test_no_product_is_lost() -> None:
    profile = stable_diffusion_profile()
    workload = workload_of(profile)
    macs = sum(load.macs * load.count * call.times for call in workload.calls for load in call.loads)
    assert macs == profile.total.macs


def test_no_call_is_lost() -> None:
    profile = stable_diffusion_profile()
    assert sum(call.times for call in workload_of(profile).calls) == len(profile.calls)


def test_loads_that_another_workload_has_are_not_made_again() -> None:
    profile = stable_diffusion_profile()
    first = workload_of(profile)
    again = workload_of(profile, first)
    assert again == first
    assert all(one.loads is other.loads for one, other in zip(again.calls, first.calls, strict=True))


def test_what_is_worked_out_from_loads_is_worked_out_once() -> None:
    loads = Loads((load_like(),))
    once = loads.derive("macs", lambda own: [load.macs for load in own])
    assert loads.derive("macs", lambda own: [load.macs for load in own]) is once
    assert loads.derive("counts", lambda own: [load.count for load in own]) == [1]


def test_a_linear_layer_is_a_product_of_its_tokens_and_features() -> None:
    load = load_of(
        operation(
            "linear", "linear", ((2, 77, 1024), (320, 1024)), (2, 77, 320), 3, macs=2 * 77 * 320 * 1024, read_bytes=9
        )
    )
    assert (load.sort, load.batch, load.rows, load.columns, load.inner, load.count) == (GEMM, 1, 154, 320, 1024, 3)


def test_a_convolution_is_a_product_over_its_kernel() -> None:
    macs = 64 * 64 * 320 * 4 * 9
    load = load_of(
        operation("convolution", "convolution", ((1, 4, 64, 64), (320, 4, 3, 3)), (1, 320, 64, 64), macs=macs)
    )
    assert (load.sort, load.batch, load.rows, load.columns, load.inner, load.taps) == (CONVOLUTION, 1, 4096, 320, 36, 9)


def test_groups_of_a_convolution_are_products_of_their_own() -> None:
    macs = 8 * 8 * 32 * 9
    load = load_of(operation("convolution", "convolution", ((1, 32, 8, 8), (32, 1, 3, 3)), (1, 32, 8, 8), macs=macs))
    assert (load.batch, load.columns, load.inner) == (32, 1, 9)


def test_attention_has_a_product_for_each_head() -> None:
    query, key = (2, 10, 4096, 64), (2, 10, 77, 64)
    load = load_of(operation("scaled_dot_product_attention", "attention", (query, key, key), query, macs=1))
    assert (load.sort, load.batch, load.rows, load.columns, load.inner) == (ATTENTION, 20, 4096, 77, 64)


def test_a_change_of_shape_moves_nothing() -> None:
    assert load_of(operation("view", "data movement", ((4, 4),), (16,))).sort == VIEW


def test_a_broadcast_input_is_looked_up_element_by_element() -> None:
    shape = (8, 32)
    same = load_of(operation("add", "elementwise", (shape, shape), shape, other_flops=256, read_bytes=1024))
    broadcast = load_of(operation("add", "elementwise", (shape, (32,)), shape, other_flops=256, read_bytes=576))
    assert (same.sort, same.scattered) == (MEMORY, False)
    assert (broadcast.scattered, broadcast.elements) == (True, 256)
