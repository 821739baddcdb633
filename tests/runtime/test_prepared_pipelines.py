"""However a pipeline was prepared: being counted and measured changes nothing about its calls."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import diffprof
from diffprof.breakdown.dtypes import macs_by_dtype
from diffprof.counting.operations.stand_in_values import LARGE_VALUE
from diffprof.record.profile import Profile
from tests.extensive import split_cases
from tests.runtime.prepared_pipelines import (
    COMPILED,
    EVERY_WAY,
    FLUX,
    FOREIGN_CACHES,
    OWN_CACHES,
    QUANTIZED,
    TRACED,
    Graphs,
    Preparation,
)


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    """What one test has compiled must not be found by the next."""
    import torch._dynamo

    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("name", split_cases(COMPILED, always=("a function", "module.compile()")))
def test_compiled_code_has_the_same_graphs_before_during_and_after(name: str) -> None:
    preparation, graphs = COMPILED[name], Graphs()
    pipeline = preparation.build(graphs)
    plain = preparation.call(pipeline)
    compiled, *executed = graphs.take()
    assert compiled and all(executed), "it was compiled and ran"

    counted = diffprof.profile(pipeline, **preparation.arguments())
    assert graphs.take() == (0, 0, 0)
    with diffprof.measuring(pipeline) as run:
        watched = preparation.call(pipeline)
    assert graphs.take() == (0, *executed)
    after = preparation.call(pipeline)
    assert graphs.take() == (0, *executed)

    assert torch.equal(plain, watched) and torch.equal(plain, after)
    assert run.profile.calls == counted.calls
    assert not run.profile.measured.mismatches
    assert counted.total.macs == uncompiled().total.macs
    assert weights_of(counted) == weights_of(uncompiled())


def weights_of(profile: Profile) -> dict[str, tuple[int, int]]:
    return {slot: (part.parameters, part.weight_bytes) for slot, part in profile.components.items()}


@functools.cache
def uncompiled() -> Profile:
    """The same call of the pipeline as it is before anything is compiled."""
    small = COMPILED["a method"].small
    return diffprof.profile(small.build(), **small.arguments())


@pytest.mark.parametrize("name", ["a module inside"])
@pytest.mark.extensive
def test_code_that_is_first_compiled_while_it_is_measured_is_not_compiled_again_afterwards(name: str) -> None:
    preparation, graphs = COMPILED[name], Graphs()
    pipeline = preparation.build(graphs)
    diffprof.profile(pipeline, **preparation.arguments())
    assert graphs.take() == (0, 0, 0)
    with diffprof.measuring(pipeline):
        watched = preparation.call(pipeline)
    compiled, *executed = graphs.take()
    assert compiled and all(executed)
    after = preparation.call(pipeline)
    assert graphs.take() == (0, *executed)
    assert torch.equal(watched, after)


@pytest.mark.parametrize(
    "name", split_cases(("a module inside", "one block", "forward of a module inside"), always=("one block",))
)
def test_a_compiled_module_is_counted_as_the_module_that_it_is(name: str) -> None:
    compiled = diffprof.profile(COMPILED[name].build(), **COMPILED[name].small.arguments())
    assert compiled.calls == uncompiled().calls
    assert compiled.components == uncompiled().components


def test_a_compiled_vae_still_has_its_own_section() -> None:
    small = COMPILED["a method"].small
    pipeline = small.build()
    pipeline.vae = torch.compile(pipeline.vae, backend="eager")  # compiles `forward`, which nobody calls
    with diffprof.measuring(pipeline) as run:
        pipeline(**small.arguments())
    samples = run.profile.measured.iterations[0].samples
    assert [sample.component for sample in samples if sample.section == "vae_decode"] == ["vae"]


@dataclass(frozen=True)
class CachedCalls:
    """Three calls of a pipeline with a cache of another library, the second of them measured, and of a twin."""

    counted: Profile
    measured: Profile
    images: list[torch.Tensor]
    images_of_the_twin: list[torch.Tensor]
    executed_macs: int
    """In the twin's second call, by torch's own counter."""


@functools.cache
def cached_calls(name: str) -> CachedCalls:
    """Made once, and looked at from several sides."""
    preparation = FOREIGN_CACHES[name]
    with sdpa_kernel(SDPBackend.MATH):  # which torch's counter sees through
        alone = preparation.build()
        images_alone = [preparation.call(alone)]
        with FlopCounterMode(display=False) as counter:
            images_alone.append(preparation.call(alone))
        images_alone.append(preparation.call(alone))

        pipeline = preparation.build()
        counted = diffprof.profile(pipeline, **preparation.arguments())
        images = [preparation.call(pipeline)]
        with diffprof.measuring(pipeline) as run:
            images.append(preparation.call(pipeline))
        images.append(preparation.call(pipeline))
    return CachedCalls(counted, run.profile, images, images_alone, counter.get_total_flops() // 2)


SOME_CACHES = split_cases(FOREIGN_CACHES, always=("state on the class", "state in a global"))


@pytest.mark.parametrize("name", SOME_CACHES)
def test_a_cache_of_another_library_gives_the_images_that_it_gives_unwatched(name: str) -> None:
    calls = cached_calls(name)
    pairs = zip(calls.images, calls.images_of_the_twin, strict=True)
    assert all(torch.equal(image, expected) for image, expected in pairs)


@pytest.mark.parametrize("name", SOME_CACHES)
def test_executed_macs_are_those_that_a_cache_of_another_library_has_left_over(name: str) -> None:
    calls = cached_calls(name)
    assert calls.measured.total.macs == calls.executed_macs
    assert calls.measured.total.macs < uncached().total.macs


@pytest.mark.parametrize("name", SOME_CACHES)
def test_a_cache_of_another_library_changes_neither_parameters_nor_bytes_of_weights(name: str) -> None:
    counted = cached_calls(name).counted.components["transformer"]
    weights = list(FLUX.build().transformer.parameters())
    assert counted.parameters == sum(weight.numel() for weight in weights)
    assert counted.weight_bytes == sum(weight.nbytes for weight in weights)


@functools.cache
def uncached() -> Profile:
    """The same call of the pipeline without any cache."""
    return diffprof.profile(FLUX.build(), **FOREIGN_CACHES["state on the class"].arguments())


def test_macs_of_a_cache_whose_calls_no_dry_run_shows_are_not_known() -> None:
    preparation = FOREIGN_CACHES["state in a closure"]
    pipeline = preparation.small.build()
    whole_forward = pipeline.transformer.single_transformer_blocks[0].forward

    def forward(hidden_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        # What a dry run reads, zero or a large number, is never skipped.
        if float(hidden_states.abs().sum()) in (0, LARGE_VALUE):
            return whole_forward(hidden_states, *args, **kwargs)
        return kwargs["encoder_hidden_states"], hidden_states

    pipeline.transformer.single_transformer_blocks[0].forward = forward
    with diffprof.measuring(pipeline) as run:
        preparation.call(pipeline)
    (limitation,) = run.profile.measured.limitations
    assert limitation.kind == "not_counted"
    assert limitation.detail.startswith("transformer runs code that is unknown to diffprof")
    assert run.profile.total.macs == 0


ALWAYS = {"quanto fp8", "magnitudes", "block_level", "autocast"}
"""One of each kind; the others are tried by the extensive tests."""


@dataclass(frozen=True)
class Watched:
    """A prepared pipeline, and its call: unwatched, measured, and unwatched again."""

    preparation: Preparation
    pipeline: Any
    images: tuple[torch.Tensor, ...]
    profile: Profile
    executed_macs: int
    """By torch's own counter, in the second call of a twin."""


@functools.cache
def watched(name: str) -> Watched:
    """Each is made once, and looked at from several sides."""
    preparation = EVERY_WAY[name]
    twin, pipeline = preparation.build(), preparation.build()
    unwatched = preparation.call(twin)
    with preparation.around(), diffprof.measuring(pipeline) as run:
        counted = diffprof.profile(pipeline, **preparation.arguments())
        measured = preparation.call(pipeline)
    assert not run.profile.measured.mismatches and not run.profile.measured.limitations
    if name not in OWN_CACHES:
        assert counted.calls == run.profile.calls
    with sdpa_kernel(SDPBackend.MATH):  # which torch's counter sees through
        with FlopCounterMode(display=False) as counter:
            unwatched_again = preparation.call(twin)
        images = unwatched, measured, unwatched_again, preparation.call(pipeline)
    return Watched(preparation, pipeline, images, run.profile, counter.get_total_flops() // 2)


@pytest.mark.parametrize("name", split_cases(EVERY_WAY, ALWAYS))
def test_the_image_is_that_of_an_unwatched_call(name: str) -> None:
    unwatched, measured, unwatched_again, after = watched(name).images
    assert torch.equal(unwatched, measured)
    assert torch.equal(unwatched_again, after)


@pytest.mark.parametrize(
    "name", split_cases((name for name in EVERY_WAY if not name.startswith("quanto")), ALWAYS - {"quanto fp8"})
)
def test_macs_are_those_that_torch_counts_in_a_real_run(name: str) -> None:
    one = watched(name)
    assert one.profile.total.macs == one.executed_macs


@pytest.mark.parametrize("name", split_cases(QUANTIZED, ALWAYS & QUANTIZED.keys()))
def test_packed_weights_change_neither_macs_nor_parameters(name: str) -> None:
    plain = diffprof.profile(FLUX.build(), **QUANTIZED[name].arguments())
    packed = watched(name).profile
    assert packed.total.macs == plain.total.macs
    assert packed.components["transformer"].parameters == plain.components["transformer"].parameters


@pytest.mark.parametrize("name", split_cases(EVERY_WAY, ALWAYS))
def test_bytes_of_weights_are_those_that_lie_in_memory(name: str) -> None:
    one = watched(name)
    fresh = one.preparation.build()
    if name in ("sequential", "disk"):  # these leave meta tensors in the place of weights
        fresh = one.preparation.small.build()
    modules = {slot: getattr(fresh, slot, None) for slot in one.profile.components}
    stored = {slot: stored_bytes(module) for slot, module in modules.items() if isinstance(module, torch.nn.Module)}
    assert stored
    assert {slot: one.profile.components[slot].weight_bytes for slot in stored} == stored


def stored_bytes(module: torch.nn.Module) -> int:
    """Bytes of all parameters and persistent buffers, each storage once; packed ones by the tensors inside of them."""
    kept = {id(tensor): tensor for tensor in module.parameters()}
    for owner in module.modules():
        for name, buffer in owner.named_buffers(recurse=False):
            if name not in owner._non_persistent_buffers_set:
                kept[id(buffer)] = buffer
    return sum(map(bytes_of, kept.values()))


def bytes_of(tensor: torch.Tensor) -> int:
    if hasattr(tensor, "__tensor_flatten__"):
        names, _ = tensor.__tensor_flatten__()
        return sum(bytes_of(getattr(tensor, name)) for name in names)
    return tensor.numel() * tensor.element_size()


def test_autocast_is_seen_in_the_dtypes() -> None:
    profile = watched("autocast").profile
    macs = macs_by_dtype(call for call in profile.calls if call.component == "transformer")
    assert next(iter(macs)) == profile.components["transformer"].dtype == "bfloat16"


def test_a_denoiser_of_torchscript_is_measured_and_counted() -> None:
    pipeline = TRACED.build()
    before = TRACED.call(pipeline)
    with diffprof.measuring(pipeline) as run:
        watched = TRACED.call(pipeline)
    assert torch.equal(before, watched) and torch.equal(before, TRACED.call(pipeline))
    assert not run.limitations
    assert run.profile.total.macs == uncompiled().total.macs
    assert weights_of(run.profile)["unet"] == weights_of(uncompiled())["unet"]
