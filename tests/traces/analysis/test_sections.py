"""Annotated sections, steps, the scheduler, compiled code, launches and memory."""

from __future__ import annotations

from tests.traces.conftest import Explain
from tests.traces.trace_builder import TraceBuilder, two_denoising_steps


def test_a_section_has_the_work_that_was_launched_in_it_whenever_that_ran(explain_built: Explain) -> None:
    made = TraceBuilder()
    for start in (0, 100):
        made.section("transformer_forward", start, start + 50)
        made.kernel("gemm", start + 60, start + 80, launched=start + 10)
        made.kernel("gemm", start + 85, start + 95, launched=start + 20)
    made.section("vae_decode", 200, 220)
    made.kernel("conv", 230, 240, launched=210)
    made.kernel("gemm", 250, 260, launched=230)
    transformer, vae = explain_built(made).sections
    assert (transformer.name, transformer.calls, transformer.host_ns) == ("transformer_forward", 2, 100_000)
    assert (transformer.gpu_busy_ns, transformer.gpu_span_ns, transformer.idle_ns) == (60_000, 70_000, 10_000)
    assert (transformer.kernels, transformer.fewest_kernels, transformer.most_kernels) == (4, 2, 2)
    assert (vae.name, vae.kernels, vae.gpu_busy_ns) == ("vae_decode", 1, 10_000)


def test_a_section_that_shows_on_the_device_only_has_what_ran_in_it(explain_built: Explain) -> None:
    made = TraceBuilder()
    made.gpu("vae_decode", 100, 200, category="gpu_user_annotation")
    made.gpu("conv", 100, 140)
    made.gpu("conv", 190, 200)
    made.gpu("conv", 300, 310)
    (section,) = explain_built(made).sections
    assert (section.name, section.calls, section.host_ns, section.kernels) == ("vae_decode", 1, 0, 2)
    assert (section.gpu_busy_ns, section.gpu_span_ns, section.idle_ns) == (50_000, 100_000, 50_000)


def test_numbered_sections_are_calls_of_one_and_a_number_that_never_changes_is_a_name(explain_built: Explain) -> None:
    made = TraceBuilder()
    for number in (1, 2, 3):
        made.section(f"ProfilerStep#{number}", 100 * number, 100 * number + 90)
    made.section("stage_2", 500, 510)
    assert [(row.name, row.calls) for row in explain_built(made).sections] == [("ProfilerStep", 3), ("stage_2", 1)]


def test_annotated_steps_have_their_kernels_and_the_memory_at_their_end(explain_built: Explain) -> None:
    made = TraceBuilder()
    for number, start in enumerate((0, 100)):
        made.section(f"ProfilerStep#{number}", start, start + 90)
        for kernel in range(number + 1):
            made.kernel("gemm", start + 20 * kernel + 10, start + 20 * kernel + 20, launched=start + 5 + kernel)
        made.memory(start + 50, 1000 + number)
    steps = explain_built(made).steps
    assert steps is not None
    assert (steps.found_by, steps.kernels, steps.gpu_busy_ns) == ("ProfilerStep", (1, 2), (10_000, 20_000))
    assert (steps.host_ns, steps.allocated_bytes) == ((90_000, 90_000), (1000, 1001))


def test_steps_of_the_program_are_preferred_to_those_of_the_profilers_schedule(explain_built: Explain) -> None:
    made = TraceBuilder()
    for number in range(3):
        made.section(f"ProfilerStep#{number}", 100 * number, 100 * number + 90)
    for number in (1, 2):
        made.section(f"step {number}", 100 * number, 100 * number + 40)
    steps = explain_built(made).steps
    assert steps is not None
    assert (steps.found_by, steps.host_ns) == ("step", (40_000, 40_000))


def test_the_scheduler_ends_steps_and_the_first_begins_with_its_denoiser(explain_built: Explain) -> None:
    made = TraceBuilder()
    made.python("pipe.py(1): __call__", 0, 1000)
    made.python("text.py(2): encode", 10, 90)
    made.kernel("gemm", 20, 30, launched=15)
    for start in (100, 300, 500):
        made.python("unet.py(3): forward", start, start + 150)
        made.kernel("gemm", start + 10, start + 140, launched=start + 5)
        made.python("wrap.py(4): step", start + 155, start + 195)
        made.python("diffusers/schedulers/scheduling_ddim.py(5): step", start + 160, start + 190)
        made.kernel("add", start + 170, start + 180, launched=start + 165)
    explanation = explain_built(made)
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
    made = TraceBuilder()
    made.python("torch/_dynamo/convert_frame.py(700): _compile", 0, 40)
    for start in (50, 150):
        made.op("Torch-Compiled Region: 0/0", start, start + 50)
        made.section("## Call CompiledFxGraph abc ##", start + 5, start + 45)
        made.kernel("triton_poi_fused_add_0", start + 20, start + 30, launched=start + 10)
        made.kernel("gemm", start + 40, start + 60, launched=start + 20)
    compiled = explain_built(made).compiled
    assert compiled is not None
    assert (compiled.regions, compiled.calls, compiled.host_ns) == (1, 2, 100_000)
    assert (compiled.kernels, compiled.gpu_busy_ns, compiled.gpu_span_ns) == (4, 60_000, 80_000)
    assert (compiled.triton_kernels, compiled.triton_ns, compiled.compiling_ns) == (2, 20_000, 40_000)


def test_launches_have_latency_and_queue(explain_built: Explain) -> None:
    made = TraceBuilder()
    made.kernel("a", 10, 50, launched=0)  # nothing in the queue
    made.kernel("b", 50, 60, launched=20)  # a
    made.kernel("c", 60, 70, launched=30)  # a and b
    made.kernel("d", 105, 110, launched=100)  # nothing
    figures = explain_built(made).launches
    assert figures is not None
    assert (figures.launched, figures.calls, figures.call_median_ns) == (4, 4, 2_000)
    assert (figures.latency_median_ns, figures.latency_longest_ns) == (20_000, 30_000)
    assert (figures.queue_longest, figures.on_empty_queue) == (2, 2)


def test_memory_is_told_for_each_device_with_its_peaks(explain_built: Explain) -> None:
    made = TraceBuilder()
    made.op("aten::empty", 0, 1000)
    for time, allocated, reserved in ((10, 100, 500), (20, 300, 600), (30, 200, 600)):
        made.memory(time, allocated, reserved)
    made.memory(15, 7, 0, device_type=0, device=-1)
    cuda, cpu = explain_built(made).memory
    assert (cuda.device, cuda.peak_allocated_bytes, cuda.peak_reserved_bytes) == ("cuda:0", 300, 600)
    assert (cuda.first_allocated_bytes, cuda.last_allocated_bytes, cuda.changes) == (100, 200, 3)
    assert cuda.samples == ((10_000, 100, 500), (20_000, 300, 600), (30_000, 200, 600))
    assert (cpu.device, cpu.peak_allocated_bytes) == ("cpu", 7)


def test_one_curve_has_a_bounded_number_of_points_and_keeps_its_peak(explain_built: Explain) -> None:
    made = TraceBuilder()
    made.op("aten::empty", 0, 10_000)
    for time in range(5000):
        made.memory(time, 999 if time == 2345 else time % 7)
    (use,) = explain_built(made).memory
    assert len(use.samples) <= 200
    assert max(point[1] for point in use.samples) == 999


def test_a_whole_trace_adds_up(explain_built: Explain) -> None:
    explanation = explain_built(two_denoising_steps())
    line = explanation.timelines[0]
    # Copies 110-150 and 900-920; each step 20-180 and 190-200 after its beginning at 200 and 600.
    assert (line.total_ns, line.busy_ns) == (810_000, 400_000)
    assert (line.computation_ns, line.exposed_copy_ns) == (340_000, 60_000)
    assert sum(row.gpu_ns for row in explanation.kinds) == 400_000
    assert sum(row.idle_ns for row in explanation.causes) == line.idle_ns == 410_000
