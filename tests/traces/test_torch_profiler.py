"""What torch.profiler writes here, on the CPU, compared with what it says itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from diffprof.traces.analysis.explain import explain_trace
from diffprof.traces.facts import TraceExplanation
from tests.children import run_forked

STEPS = 3


def record(path: Path, with_stack: bool) -> torch.profiler.profile:
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64))
    image = torch.randn(8, 64)
    options = {"record_shapes": True, "profile_memory": True, "with_stack": with_stack}
    with torch.no_grad(), torch.profiler.profile(**options) as profiler:
        for _ in range(STEPS):
            with torch.profiler.record_function("denoise_step"):
                image = model(image)
                torch.nn.functional.scaled_dot_product_attention(*[image.view(1, 2, 4, 64)] * 3)
    profiler.export_chrome_trace(str(path))
    return profiler


def record_twice(with_stacks: Path, without_stacks: Path) -> int:
    """Print what torch says about the recording without stacks.

    With them, it fails now and then in `key_averages()`, with a name that it cannot decode.
    """
    record(with_stacks, with_stack=True)
    rows = [row for row in record(without_stacks, with_stack=False).key_averages() if row.key.startswith("aten::")]
    sys.stdout.write(json.dumps({row.key: (row.count, row.self_cpu_time_total, row.cpu_time_total) for row in rows}))
    return 0


class Recorded(NamedTuple):
    """Two traces of the same work, and what torch says about the one without stacks."""

    with_stacks: TraceExplanation
    without_stacks: TraceExplanation
    operators: dict[str, tuple[int, float, float]]
    """For each operator its calls, and its own and total microseconds."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Recorded in a process of its own: stacks have every thread of the process in them."""
    paths: list[Path] = [tmp_path_factory.mktemp("torch") / f"{name}.json.gz" for name in ("stacks", "plain")]
    child = run_forked(lambda: record_twice(*paths))
    return Recorded(*map(explain_trace, paths), json.loads(child.stdout.splitlines()[-1]))


def test_each_operator_has_the_calls_and_times_that_torch_says(recorded: Recorded) -> None:
    rows = {row.name: row for row in recorded.without_stacks.host_ops if row.name.startswith("aten::")}
    assert {name: row.calls for name, row in rows.items()} == {
        name: calls for name, (calls, _, _) in recorded.operators.items()
    }
    for name, (_, self_us, total_us) in recorded.operators.items():
        # torch adds up times that it had rounded.
        assert rows[name].total_ns / 1000 == pytest.approx(total_us, rel=1e-3, abs=0.1)
        assert rows[name].self_ns / 1000 == pytest.approx(self_us, rel=1e-3, abs=0.1)


def test_sections_steps_memory_and_stacks_are_found(recorded: Recorded) -> None:
    explanation = recorded.with_stacks
    assert (explanation.source.platform, explanation.source.has_stacks, explanation.source.has_shapes) == (
        "cpu",
        True,
        True,
    )
    assert [(row.name, row.calls) for row in explanation.sections] == [("denoise_step", STEPS)]
    assert explanation.steps is not None
    assert len(explanation.steps.host_ns) == STEPS
    assert [use.device for use in explanation.memory] == ["cpu"]
    assert explanation.timelines == ()
    assert recorded.without_stacks.source.has_stacks is False
