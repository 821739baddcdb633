"""However a pipeline was prepared: being counted and measured changes nothing about its calls."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import diffprof
from tests.runtime.prepared_pipelines import COMPILED, Graphs


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    """What one test has compiled must not be found by the next."""
    import torch._dynamo

    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("name", COMPILED)
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


@pytest.mark.parametrize("name", ["a module inside"])
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


@pytest.mark.parametrize("name", ["a module inside", "one block", "forward of a module inside"])
def test_a_compiled_module_is_counted_as_the_module_that_it_is(name: str) -> None:
    small = COMPILED[name].small
    plain = diffprof.profile(small.build(), **small.arguments())
    compiled = diffprof.profile(COMPILED[name].build(), **small.arguments())
    assert compiled.calls == plain.calls
    assert compiled.components == plain.components


def test_a_compiled_vae_still_has_its_own_section() -> None:
    small = COMPILED["a method"].small
    pipeline = small.build()
    pipeline.vae = torch.compile(pipeline.vae, backend="eager")  # compiles `forward`, which nobody calls
    with diffprof.measuring(pipeline) as run:
        pipeline(**small.arguments())
    samples = run.profile.measured.iterations[0].samples
    assert [sample.component for sample in samples if sample.section == "vae_decode"] == ["vae"]
