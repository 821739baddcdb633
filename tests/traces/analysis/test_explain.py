"""The facts of a whole trace fit together, and it is known where they come from."""

from __future__ import annotations

import pytest

from tests.traces.conftest import Explain
from tests.traces.trace_builder import TraceBuilder, two_denoising_steps


def test_a_whole_trace_adds_up(explain_built: Explain) -> None:
    explanation = explain_built(two_denoising_steps())
    line = explanation.timelines[0]
    # Copies 110-150 and 900-920; each step 20-180 and 190-200 after its beginning at 200 and 600.
    assert (line.total_ns, line.busy_ns) == (810_000, 400_000)
    assert (line.computation_ns, line.exposed_copy_ns) == (340_000, 60_000)
    assert sum(row.gpu_ns for row in explanation.kinds) == 400_000
    assert sum(row.idle_ns for row in explanation.causes) == line.idle_ns == 410_000


def test_the_source_has_the_device_the_clock_and_what_was_recorded(explain_built: Explain) -> None:
    source = explain_built(two_denoising_steps()).source
    assert (source.platform, source.device_names, source.events) == ("cuda", ("NVIDIA H100",), 39)
    assert (source.rank, source.world_size) == (None, None)
    assert (source.recorded_ns, source.clock_ns) == (1_000_000, 1_700_000_000_000_000_000)
    assert (source.has_stacks, source.has_shapes, source.has_launches) == (True, True, True)
    assert (source.negative_durations, source.invalid_bytes) == (0, 0)


@pytest.mark.parametrize(
    ("call", "platform"),
    [
        ("hipLaunchKernel", "rocm"),
        ("cudaLaunchKernel", "cuda"),
        ("cudaGraphLaunch", "cuda"),
        ("cuLaunchKernelEx", "cuda"),
        ("urEnqueueKernelLaunch", "xpu"),
        ("zeCommandListAppendLaunchKernel", "xpu"),
        ("launch", "gpu"),
    ],
)
def test_without_metadata_the_platform_is_known_by_the_runtime_calls(
    call: str, platform: str, explain_built: Explain
) -> None:
    builder = TraceBuilder()
    builder.metadata.clear()
    builder.gpu("gemm", 10, 20, builder.call(call, 0, 5))
    assert explain_built(builder).source.platform == platform
