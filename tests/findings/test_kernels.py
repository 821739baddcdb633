"""Attention that is not fused, and operations that are too short; on counts of real pipelines too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import diffprof
from diffprof.record.measured import Iteration, Measured, Sample, Span
from diffprof.record.profile import Profile
from tests.findings.problems import findings_of_kind, many_operations, the_finding, written_out
from tests.sample_iterations import CPU, GPU, MILLISECOND
from tests.small_pipelines import SMALL_PIPELINES


@pytest.mark.parametrize(("macs", "moved", "too_much"), [(0.049, 0.049, False), (0.05, 0, True), (0, 0.05, True)])
def test_five_percent_of_the_macs_or_of_the_bytes_are_worth_a_fused_kernel(
    macs: float, moved: float, too_much: bool
) -> None:
    assert bool(findings_of_kind(written_out(macs, moved), "attention_written_out")) is too_much


def test_a_component_that_takes_little_time_may_write_it_out() -> None:
    profile = written_out(share_of_macs=0.5)
    assert profile.measured is not None
    slow = tuple(
        replace(one, wall=Span(0, 60_000 * MILLISECOND * len(one.steps))) for one in profile.measured.iterations
    )
    profile = replace(profile, measured=replace(profile.measured, iterations=slow))
    assert not findings_of_kind(profile, "attention_written_out")


def written_out_processors(pipeline: Any) -> None:
    from diffusers.models.attention_processor import AttnProcessor

    pipeline.unet.set_attn_processor(AttnProcessor())


def fused_processors(pipeline: Any) -> None:
    from diffusers.models.attention_processor import AttnProcessor2_0

    pipeline.unet.set_attn_processor(AttnProcessor2_0())


@pytest.mark.parametrize(
    ("mistake", "remedy", "component", "case"),
    [
        (written_out_processors, fused_processors, "unet", "model"),
        (
            lambda pipe: pipe.enable_attention_slicing(1),
            lambda pipe: pipe.disable_attention_slicing(),
            "unet",
            "model",
        ),
        (
            lambda pipe: pipe.text_encoder.set_attn_implementation("eager"),
            lambda pipe: pipe.text_encoder.set_attn_implementation("sdpa"),
            "text_encoder",
            "encoder",
        ),
    ],
    ids=["processor", "slicing", "eager"],
)
def test_attention_of_a_real_pipeline_is_found_and_what_is_advised_mends_it(
    mistake: Callable[[Any], None], remedy: Callable[[Any], None], component: str, case: str
) -> None:
    small = SMALL_PIPELINES["stable-diffusion"]
    pipeline = small.build()
    assert not findings_of_kind(_as_if_measured(pipeline, small.arguments()), "attention_written_out")
    mistake(pipeline)
    findings = findings_of_kind(_as_if_measured(pipeline, small.arguments()), "attention_written_out")
    assert [(finding.evidence["component"], finding.case) for finding in findings] == [(component, case)]
    remedy(pipeline)
    assert not findings_of_kind(_as_if_measured(pipeline, small.arguments()), "attention_written_out")


def _as_if_measured(pipeline: Any, arguments: dict[str, Any]) -> Profile:
    """The count of the pipeline, and a run in which each call of a component took 10 ms."""
    counted = diffprof.profile(pipeline, **arguments)
    samples = tuple(
        Sample(
            f"{call.component}_{call.method}",
            Span(place * 10 * MILLISECOND, 10 * MILLISECOND),
            call.component,
            call=place,
        )
        for place, call in enumerate(counted.calls)
        if call.component != "pipeline"
    )
    one = Iteration(0, Span(0, len(samples) * 10 * MILLISECOND), samples)
    return replace(counted, measured=Measured(CPU, (one,)))


@pytest.mark.parametrize(
    ("count", "microseconds", "share_of_peak", "bound"),
    [
        (1_000, 8, 0.05, True),
        (1_000, 21, 0.05, False),  # long enough to start the next one meanwhile
        (1_000, 8, 0.26, False),  # busy enough
        (99, 8, 0.05, False),  # few
    ],
)
def test_many_short_operations_far_from_the_peak_are_bound_by_their_launches(
    count: int, microseconds: float, share_of_peak: float, bound: bool
) -> None:
    assert bool(findings_of_kind(many_operations(count, microseconds, share_of_peak), "launch_bound")) is bound


def test_the_evidence_of_launches_has_their_number_and_length() -> None:
    evidence = the_finding(many_operations(1_000, 8, 0.05), "launch_bound").evidence
    assert evidence["operations"] == 1_000
    assert evidence["operation_seconds"] == pytest.approx(8e-6)
    assert evidence["peak_share"] == pytest.approx(0.05)


def test_without_a_known_peak_there_is_no_finding_about_utilization() -> None:
    profile = many_operations(1_000, 8, 0.05)
    assert profile.measured is not None
    unknown = replace(profile.measured, device=replace(GPU, peak_flops_per_second={}))
    assert not findings_of_kind(replace(profile, measured=unknown), "launch_bound")
