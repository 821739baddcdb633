"""Rules about time: a section that dominates it, and a slow scheduler."""

from __future__ import annotations

from collections.abc import Iterator

from diffprof.breakdown.clocks import clock_of
from diffprof.breakdown.sections import BETWEEN, SectionRow, section_table
from diffprof.breakdown.shares import share
from diffprof.breakdown.steps import NANOSECONDS
from diffprof.findings.finding import Evidence, Finding, Rule, Threshold
from diffprof.record.measured import Measured
from diffprof.record.profile import Profile

DOMINANT = Threshold("total_share", 0.5, "everything else together takes less")
SCHEDULER = Threshold(
    "scheduler_share", 0.01, "a few operations on the latents are next to nothing compared with a model"
)

SOLVER, SOLVER_STEPS = "DPMSolverMultistepScheduler", 20
"""A scheduler that needs few steps, and how many."""

CASES_BY_ROLE = {
    "denoiser": "denoiser",
    "controlnet": "denoiser",
    "vae": "vae",
    "text_encoder": "encoder",
    "image_encoder": "encoder",
}


def dominant_section(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """One section takes at least half of the time, not counting nested sections."""
    rows = section_table(measured.timed_iterations)
    most = max(rows, key=lambda row: row.self_ns, default=None)
    if most is None or most.self_share < DOMINANT.value:
        return
    component = _component(measured, most)
    yield Finding(
        "dominant_section",
        "between" if most.section == BETWEEN else _case(profile, component),
        most.self_share,
        {
            **_evidence(most),
            "component": component,
            "cacheable": _cacheable(profile, component),
            "solver": _solver(profile),
            **_longest(rows, most),
        },
    )


def _solver(profile: Profile) -> str | None:
    """A scheduler that needs fewer steps; None if it would not, or if the model was made for its own."""
    stage = profile.steps.main
    if stage is None or stage.scheduler.startswith("FlowMatch") or stage.count <= SOLVER_STEPS:
        return None
    return SOLVER


def _cacheable(profile: Profile, component: str | None) -> str | None:
    """The component if it has ``enable_cache``: diffusers gives it to transformers, not to UNets."""
    part = profile.components.get(component or "")
    return component if part is not None and "Transformer" in part.class_name else None


def _component(measured: Measured, row: SectionRow) -> str | None:
    samples = [sample for iteration in measured.timed_iterations for sample in iteration.samples]
    return next((sample.component for sample in samples if sample.section == row.section), None)


def _case(profile: Profile, component: str | None) -> str:
    part = profile.components.get(component or "")
    return CASES_BY_ROLE.get(part.role, "other") if part is not None else "other"


def _evidence(row: SectionRow) -> Evidence:
    return {
        "section": row.section,
        "calls": row.times.count,
        "total_seconds": row.self_ns / NANOSECONDS,
        "mean_seconds": row.self_ns / row.times.count / NANOSECONDS,
        "total_share": row.self_share,
        "rest_share": 1 - row.self_share,
    }


def _longest(rows: list[SectionRow], most: SectionRow) -> Evidence:
    """The section with the longest calls, if it is not the one that takes the most time."""
    sections = [row for row in rows if row.section != BETWEEN]
    longest = max(sections, key=lambda row: row.self_ns / row.times.count, default=most)
    if longest is most:
        return {"longest": None}
    return {
        "longest": longest.section,
        "longest_seconds": longest.self_ns / longest.times.count / NANOSECONDS,
        "longest_share": longest.self_share,
    }


def scheduler_overhead(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """The scheduler takes a large share of the denoising steps."""
    clock = clock_of(measured.timed_iterations)
    steps = [clock.length_ns(step.span) for iteration in measured.timed_iterations for step in iteration.steps]
    scheduler_ns = [
        clock.length_ns(sample.span)
        for iteration in measured.timed_iterations
        for sample in iteration.samples
        if sample.section.endswith("scheduler_step") and sample.step is not None
    ]
    if share(sum(scheduler_ns), sum(steps)) > SCHEDULER.value:
        yield Finding(
            "scheduler_overhead",
            "step",
            share(sum(scheduler_ns), sum(clock.length_ns(iteration.wall) for iteration in measured.timed_iterations)),
            {
                "scheduler_share": share(sum(scheduler_ns), sum(steps)),
                "total_seconds": sum(scheduler_ns) / NANOSECONDS,
                "mean_seconds": sum(scheduler_ns) / len(scheduler_ns) / NANOSECONDS,
                "step_seconds": sum(steps) / len(steps) / NANOSECONDS,
                "steps": len(steps),
            },
        )


DOMINANT_SECTION = Rule(
    "dominant_section",
    "One section takes most of the total time, however short each of its calls is.",
    ("denoiser", "vae", "encoder", "other", "between"),
    (DOMINANT,),
    dominant_section,
)
SCHEDULER_OVERHEAD = Rule(
    "scheduler_overhead",
    "The scheduler takes more of a denoising step than its few operations should.",
    ("step",),
    (SCHEDULER,),
    scheduler_overhead,
)
