"""Profiles as nested slices of a timeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diffprof.breakdown.clocks import HOST
from diffprof.render.exports.slices import Slice, counted_slices, measured_slices
from tests.sample_iterations import CPU, iteration_on
from tests.sample_profiles import stable_diffusion


def all_slices(slices: Sequence[Slice]) -> Iterator[Slice]:
    for one in slices:
        yield one
        yield from all_slices(one.inside)


def assert_nested(slices: Sequence[Slice], start: int, end: int) -> None:
    for one in slices:
        assert start <= one.start <= one.end <= end
        assert_nested(one.inside, one.start, one.end)
        start = one.end


def test_counted_slices_are_as_long_as_their_macs_and_fill_the_timeline() -> None:
    profile = stable_diffusion()
    slices = list(counted_slices(profile))
    assert [one.length for one in slices] == [call.macs for call in profile.calls]
    assert slices[-1].end == profile.total.macs
    assert_nested(slices, 0, profile.total.macs)


def test_a_module_is_named_with_its_class() -> None:
    names = {one.name for one in all_slices(list(counted_slices(stable_diffusion())))}
    assert {"unet.forward", "vae.decode"} <= names
    assert any(": " in name for name in names)


def test_measured_slices_lie_within_the_iteration() -> None:
    iteration = iteration_on(CPU)
    slices = measured_slices(iteration, HOST)
    assert_nested(slices, HOST.start_ns(iteration.wall), HOST.end_ns(iteration.wall))
    assert len(list(all_slices(slices))) == len(iteration.samples)


def test_a_shifted_slice_takes_its_nested_slices_along() -> None:
    shifted = Slice("a", 0, 10, inside=(Slice("b", 2, 3),)).shift(100)
    assert (shifted.start, shifted.end, shifted.inside[0].start) == (100, 110, 102)
