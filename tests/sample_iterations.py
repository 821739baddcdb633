"""Iterations of a measured run, written by hand, with times in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from diffprof.record.measured import Device, Iteration, MemoryPoint, Sample, Span, StepSpan

MILLISECOND = 1_000_000
GB = 1_000_000_000

CPU = Device(
    name="AMD EPYC 7763",
    kind="cpu",
    memory_bytes=64 * GB,
    threads=16,
    peak_flops_per_second={"float16": 1.2e12, "float32": 1.2e12},
    peak_source="a matmul that was timed here",
)
GPU = Device(
    name="NVIDIA A100-SXM4-80GB",
    kind="cuda",
    memory_bytes=80 * GB,
    peak_flops_per_second={"float16": 312e12, "float32": 19.5e12},
    peak_source="NVIDIA A100 datasheet",
)

# Half to three quarters of the peak of the devices above, for the work of `sample_profiles.stable_diffusion`.
_CPU_TIMES = {"text_ms": 50, "unet_ms": 2_000, "vae_ms": 3_000}
_GPU_TIMES = {"text_ms": 0.5, "unet_ms": 10, "scheduler_ms": 0.05, "vae_ms": 16, "postprocess_ms": 1, "between_ms": 0.1}


def iteration_on(device: Device, **changes: Any) -> Iteration:
    """What one of the devices above takes for one picture; `changes` as for `iteration`."""
    if device.kind == "cpu":
        return iteration(**{**_CPU_TIMES, **changes})
    return iteration(**{"gpu": True, **_GPU_TIMES, **changes})


def iteration(
    *,
    steps: int = 4,
    text_ms: float = 50,
    unet_ms: float | Sequence[float] = 2_000,
    scheduler_ms: float = 1,
    vae_ms: float = 3_000,
    postprocess_ms: float = 20,
    between_ms: float = 1,
    times: float = 1,
    prompt: str = "a cat",
    gpu: bool = False,
    held_bytes: int = 8 * GB,
    kept_bytes: int = 0,
    reserved_bytes: int = 9 * GB,
    **fields: Any,
) -> Iteration:
    """Prompt encoding with two calls of the text encoder inside, the denoising steps, VAE decode, post-processing.

    `unet_ms` may have one figure for each step. `between_ms` lies between all sections, and belongs to none.
    `times` makes everything so many times as long. `held_bytes` is in use at the start, `kept_bytes` more at the end;
    a GPU has `reserved_bytes` of memory. `fields` replace those of the `Iteration`: ``warmup``, ``moves``, ``caches``.
    """
    timeline = _Timeline(gpu, times * between_ms, held_bytes, reserved_bytes)
    timeline.begin("encode_prompt", digest=f"digest of {prompt}")
    for call in range(2):
        timeline.add("text_encoder_forward", times * text_ms, component="text_encoder", call=call)
    timeline.end()
    for step, milliseconds in enumerate(unet_ms if isinstance(unet_ms, Sequence) else [unet_ms] * steps):
        began = timeline.now
        timeline.add("unet_forward", times * milliseconds, component="unet", call=2 + step, step=step)
        timeline.add("scheduler_step", times * scheduler_ms, step=step)
        timeline.steps.append(StepSpan("scheduler", step, timeline.span(began, timeline.last_end)))
    timeline.add("vae_decode", times * vae_ms, component="vae", call=2 + len(timeline.steps))
    timeline.add("postprocess", times * postprocess_ms)
    timeline.held += kept_bytes
    timeline.remember("end")
    return Iteration(
        **{
            "began_ns": 0,
            "wall": timeline.span(0, timeline.now),
            "samples": tuple(timeline.samples),
            "steps": tuple(timeline.steps),
            "memory": tuple(timeline.memory),
            **fields,
        }
    )


def interrupted(whole: Iteration, at_ms: float, error: str = "KeyboardInterrupt") -> Iteration:
    """What there is of the iteration when it stops after so many milliseconds: what was under way then has failed."""
    at = round(at_ms * MILLISECOND)

    def cut(span: Span) -> Span:
        rest = min(span.host_ns, at - span.start_ns)
        return replace(span, host_ns=rest, device_ns=None if span.device_ns is None else rest)

    return replace(
        whole,
        wall=cut(whole.wall),
        samples=tuple(
            replace(sample, span=cut(sample.span), failed=sample.span.end_ns > at)
            for sample in whole.samples
            if sample.span.start_ns < at
        ),
        steps=tuple(replace(step, span=cut(step.span)) for step in whole.steps if step.span.start_ns < at),
        memory=tuple(point for point in whole.memory if point.at_ns < at),
        moves=tuple(move for move in whole.moves if move.at_ns < at),
        caches=tuple(event for event in whole.caches if event.at_ns < at),
        error=error,
    )


def in_sequence(iterations: Sequence[Iteration]) -> tuple[Iteration, ...]:
    """The iterations one after the other, a millisecond apart."""
    began, placed = 0, []
    for one in iterations:
        placed.append(replace(one, began_ns=began))
        began += one.wall.host_ns + MILLISECOND
    return tuple(placed)


class _Timeline:
    """Where the clock stands and what was recorded until then."""

    def __init__(self, gpu: bool, between_ms: float, held: int, reserved: int) -> None:
        self.gpu, self.between, self.held, self.reserved = gpu, round(between_ms * MILLISECOND), held, reserved
        self.samples: list[Sample] = []
        self.steps: list[StepSpan] = []
        self.memory: list[MemoryPoint] = []
        self.now = self.last_end = 0
        self._open: int | None = None
        self.remember("start")
        self.now = self.between

    def begin(self, section: str, **fields: Any) -> None:
        """A section that other sections lie in."""
        self._open = len(self.samples)
        self.samples.append(Sample(section, self.span(self.now, self.now), **fields))
        self.now += self.between

    def end(self) -> None:
        assert self._open is not None
        sample = self.samples[self._open]
        self.samples[self._open] = replace(sample, span=self.span(sample.span.start_ns, self.now))
        self._open, self.last_end = None, self.now
        self.now += self.between

    def add(self, section: str, milliseconds: float, **fields: Any) -> None:
        number = len(self.samples)
        begins, self.last_end = self.now, self.now + round(milliseconds * MILLISECOND)
        self.samples.append(Sample(section, self.span(begins, self.last_end), parent=self._open, **fields))
        if "component" in fields:
            self.remember(f"{section} begins", sample=number)
            self.now = self.last_end
            self.remember(f"{section} ends", peak=self.held + GB, sample=number)
        self.now = self.last_end + self.between

    def span(self, begins: int, ends: int) -> Span:
        if self.gpu:
            return Span(begins, ends - begins, device_start_ns=begins, device_ns=ends - begins)
        return Span(begins, ends - begins)

    def remember(self, label: str, peak: int | None = None, sample: int | None = None) -> None:
        """On a GPU the memory is there, in the process it is on a CPU."""
        peak = self.held if peak is None else peak
        if not self.gpu:
            highest = max([peak, *[point.peak_rss_bytes for point in self.memory]])
            self.memory.append(MemoryPoint(label, self.now, self.held, highest, sample=sample))
            return
        device = {"allocated_bytes": self.held, "reserved_bytes": self.reserved, "peak_allocated_bytes": peak}
        self.memory.append(MemoryPoint(label, self.now, 2 * GB, 2 * GB, **device, sample=sample))
