"""What torch.profiler writes here, on the CPU, compared with what it says itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from diffprof.traces.analysis.explain import explain_trace
from diffprof.traces.facts import TraceExplanation
from tests.children import run_child

STEPS = 3

# Two recordings: torch fails now and then in `key_averages()` when it has recorded stacks, with a name that it cannot
# decode. Its own numbers are taken from a recording without them.
RECORDING = """
import json, sys, torch

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64))

def record(path, with_stack):
    image = torch.randn(8, 64)
    options = {"record_shapes": True, "profile_memory": True, "with_stack": with_stack}
    with torch.no_grad(), torch.profiler.profile(**options) as profiler:
        for _ in range(int(sys.argv[3])):
            with torch.profiler.record_function("denoise_step"):
                image = model(image)
                torch.nn.functional.scaled_dot_product_attention(*[image.view(1, 2, 4, 64)] * 3)
    profiler.export_chrome_trace(path)
    return profiler

record(sys.argv[1], with_stack=True)
rows = [row for row in record(sys.argv[2], with_stack=False).key_averages() if row.key.startswith("aten::")]
print(json.dumps({row.key: (row.count, row.self_cpu_time_total, row.cpu_time_total) for row in rows}))
"""


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
    child = run_child("-c", RECORDING, *paths, STEPS)
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
