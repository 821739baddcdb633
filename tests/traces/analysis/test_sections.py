"""Annotated sections, steps, the scheduler and compiled code."""

from __future__ import annotations

from tests.traces.conftest import Explain
from tests.traces.trace_builder import TraceBuilder


def test_a_section_has_the_work_that_was_launched_in_it_whenever_that_ran(explain_built: Explain) -> None:
    builder = TraceBuilder()
    for start in (0, 100):
        builder.section("transformer_forward", start, start + 50)
        builder.kernel("gemm", start + 60, start + 80, launched=start + 10)
        builder.kernel("gemm", start + 85, start + 95, launched=start + 20)
    builder.section("vae_decode", 200, 220)
    builder.kernel("conv", 230, 240, launched=210)
    builder.kernel("gemm", 250, 260, launched=230)
    transformer, vae = explain_built(builder).sections
    assert (transformer.name, transformer.calls, transformer.host_ns) == ("transformer_forward", 2, 100_000)
    assert (transformer.gpu_busy_ns, transformer.gpu_span_ns, transformer.idle_ns) == (60_000, 70_000, 10_000)
    assert (transformer.kernels, transformer.fewest_kernels, transformer.most_kernels) == (4, 2, 2)
    assert (vae.name, vae.kernels, vae.gpu_busy_ns) == ("vae_decode", 1, 10_000)


def test_a_section_that_shows_on_the_device_only_has_what_ran_in_it(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.gpu("vae_decode", 100, 200, category="gpu_user_annotation")
    builder.gpu("conv", 100, 140)
    builder.gpu("conv", 190, 200)
    builder.gpu("conv", 300, 310)
    (section,) = explain_built(builder).sections
    assert (section.name, section.calls, section.host_ns, section.kernels) == ("vae_decode", 1, 0, 2)
    assert (section.gpu_busy_ns, section.gpu_span_ns, section.idle_ns) == (50_000, 100_000, 50_000)


def test_numbered_sections_are_calls_of_one_and_a_number_that_never_changes_is_a_name(explain_built: Explain) -> None:
    builder = TraceBuilder()
    for number in (1, 2, 3):
        builder.section(f"ProfilerStep#{number}", 100 * number, 100 * number + 90)
    builder.section("stage_2", 500, 510)
    assert [(row.name, row.calls) for row in explain_built(builder).sections] == [("ProfilerStep", 3), ("stage_2", 1)]


def test_annotated_steps_have_their_kernels_and_the_memory_at_their_end(explain_built: Explain) -> None:
    builder = TraceBuilder()
    for number, start in enumerate((0, 100)):
        builder.section(f"ProfilerStep#{number}", start, start + 90)
        for kernel in range(number + 1):
            builder.kernel("gemm", start + 20 * kernel + 10, start + 20 * kernel + 20, launched=start + 5 + kernel)
        builder.memory(start + 50, 1000 + number)
    steps = explain_built(builder).steps
    assert steps is not None
    assert (steps.found_by, steps.kernels, steps.gpu_busy_ns) == ("ProfilerStep", (1, 2), (10_000, 20_000))
    assert (steps.host_ns, steps.allocated_bytes) == ((90_000, 90_000), (1000, 1001))


def test_steps_of_the_program_are_preferred_to_those_of_the_profilers_schedule(explain_built: Explain) -> None:
    builder = TraceBuilder()
    for number in range(3):
        builder.section(f"ProfilerStep#{number}", 100 * number, 100 * number + 90)
    for number in (1, 2):
        builder.section(f"step {number}", 100 * number, 100 * number + 40)
    steps = explain_built(builder).steps
    assert steps is not None
    assert (steps.found_by, steps.host_ns) == ("step", (40_000, 40_000))


def test_the_scheduler_ends_steps_and_the_first_starts_with_its_denoiser(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.python("pipe.py(1): __call__", 0, 1000)
    builder.python("text.py(2): encode", 10, 90)
    builder.kernel("gemm", 20, 30, launched=15)
    for start in (100, 300, 500):
        builder.python("unet.py(3): forward", start, start + 150)
        builder.kernel("gemm", start + 10, start + 140, launched=start + 5)
        builder.python("wrap.py(4): step", start + 155, start + 195)
        builder.python("diffusers/schedulers/scheduling_ddim.py(5): step", start + 160, start + 190)
        builder.kernel("add", start + 170, start + 180, launched=start + 165)
    explanation = explain_built(builder)
    assert explanation.steps is not None
    assert explanation.steps.found_by == "diffusers/schedulers/scheduling_ddim.py(5): step"
    assert explanation.steps.kernels == (2, 2, 2)
    assert explanation.steps.host_ns == (190_000, 200_000, 200_000)
    assert explanation.scheduler is not None
    # In each of the calls of 30 the device is busy for 10; after the last work, nothing is idle any more.
    assert (explanation.scheduler.calls, explanation.scheduler.host_ns, explanation.scheduler.idle_ns) == (
        3,
        90_000,
        50_000,
    )


def test_compiled_code_is_counted_with_what_it_launched(explain_built: Explain) -> None:
    builder = TraceBuilder()
    builder.python("torch/_dynamo/convert_frame.py(700): _compile", 0, 40)
    for start in (50, 150):
        builder.op("Torch-Compiled Region: 0/0", start, start + 50)
        builder.section("## Call CompiledFxGraph abc ##", start + 5, start + 45)
        builder.kernel("triton_poi_fused_add_0", start + 20, start + 30, launched=start + 10)
        builder.kernel("gemm", start + 40, start + 60, launched=start + 20)
    compiled = explain_built(builder).compiled
    assert compiled is not None
    assert (compiled.regions, compiled.calls, compiled.host_ns) == (1, 2, 100_000)
    assert (compiled.kernels, compiled.gpu_busy_ns, compiled.gpu_span_ns) == (4, 60_000, 80_000)
    assert (compiled.triton_kernels, compiled.triton_ns, compiled.compiling_ns) == (2, 20_000, 40_000)
