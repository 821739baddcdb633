"""One profile for each case of each rule that has the problem; and what a healthy run shows besides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from diffprof.findings import Finding, findings
from diffprof.record.measured import (
    DEVICE_TO_HOST,
    HOST_TO_DEVICE,
    CacheEvent,
    Iteration,
    Move,
)
from diffprof.record.profile import Operation, Profile, Work
from diffprof.record.tensors import OperationShapes
from tests.findings.slow_runs import slow_decoder, unfused
from tests.sample_iterations import CPU, GB, GPU, MILLISECOND, iteration, iteration_on
from tests.sample_profiles import measured_profile, tensors

MIB = 1024**2


def findings_of_kind(profile: Profile, rule: str) -> list[Finding]:
    return [finding for finding in findings(profile) if finding.rule == rule]


def the_finding(profile: Profile, rule: str) -> Finding:
    (finding,) = findings_of_kind(profile, rule)
    return finding


def ended_by_error(**changes: object) -> Iteration:
    return iteration(steps=2, error="KeyboardInterrupt", **changes)


def with_cache_events(hits: list[bool], module: str = "blocks.0", **device: int) -> Profile:
    """A cache of the UNet with a lookup in each of `steps` steps of one iteration."""
    events = tuple(
        CacheEvent("FirstBlockCache", hit, MILLISECOND, step, "unet", module) for step, hit in enumerate(hits)
    )
    one = iteration(steps=len(hits), caches=events)
    return measured_profile(iterations=[one], steps=len(hits), cached_bytes=device)


def moving(milliseconds: float, hidden: bool | None = False, steps: int = 4, moved_in: int = 4) -> Profile:
    """The UNet comes in in `moved_in` of the steps, for so long each, and goes out again; everything takes 11.1 s."""
    moves = []
    for step in range(moved_in):
        moves.append(Move("unet", HOST_TO_DEVICE, 3 * GB, 0, round(milliseconds * MILLISECOND), step, hidden))
        moves.append(Move("unet", DEVICE_TO_HOST, GB, 0, 0, step, hidden))
    return measured_profile(iterations=[iteration(steps=steps, moves=tuple(moves))], steps=steps)


def with_unet_operations(*operations: Operation, profile: Profile | None = None) -> Profile:
    """Replace the operations of the UNet, and its MACs and bytes accordingly."""
    profile = profile or measured_profile()
    work = sum((operation.work for operation in operations), Work())
    changed = {}

    def cost_of(call):  # type: ignore[no-untyped-def]
        if call.component != "unet":
            return call
        cost = changed.setdefault(id(call.cost), replace(call.cost, work=work, operations=operations))
        return replace(call, cost=cost)

    calls = tuple(cost_of(call) for call in profile.calls)
    unet = replace(profile.components["unet"], work=work * sum(call.component == "unet" for call in calls))
    return replace(profile, calls=calls, components={**profile.components, "unet": unet})


def written_out(share_of_macs: float, share_of_bytes: float = 0.0) -> Profile:
    """A UNet with 1,000,000 MACs and bytes, part of which is unfused attention."""
    macs, moved = round(share_of_macs * 1_000_000), round(share_of_bytes * 1_000_000)
    return with_unet_operations(
        Operation("baddbmm", "attention", OperationShapes(), "float16", 8, Work(macs, 0, moved, 0)),
        Operation("_softmax", "attention", OperationShapes(), "float16", 8, Work()),
        Operation("linear", "linear", OperationShapes(), "float16", 8, Work(1_000_000 - macs, 0, 1_000_000 - moved, 0)),
    )


def many_operations(count: int, microseconds: float, share_of_peak: float, device=GPU) -> Profile:  # type: ignore[no-untyped-def]
    """A UNet with this many operations per call, of this length, at this share of the device's peak."""
    seconds = count * microseconds * 1e-6
    macs = round(seconds * device.peak_flops_per_second["float16"] * share_of_peak / 2)
    operation = Operation("linear", "linear", OperationShapes(), "float16", count, Work(macs, 0, 1, 1))
    one = iteration_on(device, unet_ms=seconds * 1_000, text_ms=0.1, vae_ms=0.1)
    return with_unet_operations(operation, profile=measured_profile(device=device, iterations=[one]))


def with_vae_peak(peak_bytes: int, **changes: object) -> Profile:
    """On a GPU, where everything else needs at most 4 GB."""
    one = iteration_on(GPU, held_bytes=3 * GB)
    decode = next(number for number, sample in enumerate(one.samples) if sample.section == "vae_decode")
    points = tuple(
        replace(point, peak_allocated_bytes=peak_bytes)
        if point.sample == decode and point.label.endswith("ends")
        else point
        for point in one.memory
    )
    return measured_profile(device=GPU, iterations=[replace(one, memory=points, **changes)])


def with_pictures(profile: Profile, pictures: int) -> Profile:
    calls = tuple(
        replace(call, inputs=tensors(z=(pictures, 4, 64, 64))) if call.component == "vae" else call
        for call in profile.calls
    )
    return replace(profile, calls=calls)


def ends_with(*held: int, device=GPU, **changes: object) -> Profile:  # type: ignore[no-untyped-def]
    """A warm-up, then iterations that each end with the given bytes in use."""
    begins = [held[0], *held[:-1]]
    ran = [
        iteration_on(device, held_bytes=begin, kept_bytes=end - begin) for begin, end in zip(begins, held, strict=True)
    ]
    warmup = iteration_on(device, held_bytes=held[0], warmup=True)
    return measured_profile(device=device, iterations=[warmup, *ran], **changes)


def reserving(*reserved: int) -> Profile:
    """One iteration after the other with so much reserved, of which at most 4 GB are ever in use."""
    return measured_profile(
        device=GPU, iterations=[iteration_on(GPU, held_bytes=3 * GB, reserved_bytes=bytes_) for bytes_ in reserved]
    )


def encoding_again(times: int = 1) -> Iteration:
    """`encode_prompt` for the same prompt again, so many times, at the end of the call."""
    one = iteration()
    encoded = next(sample for sample in one.samples if sample.section == "encode_prompt")
    return replace(one, samples=(*one.samples, *[encoded] * times))


PROBLEMS: dict[tuple[str, str], Callable[[], Profile]] = {
    ("incomplete_run", "others_ended"): lambda: measured_profile(iterations=[iteration(), ended_by_error()]),
    ("incomplete_run", "none_ended"): lambda: measured_profile(iterations=[ended_by_error()]),
    ("unstable_timings", "iterations"): lambda: measured_profile(
        iterations=[iteration(times=times) for times in (1, 1.2, 1)]
    ),
    ("slower_than_expected", "attention"): unfused,
    ("slower_than_expected", "component"): slow_decoder,
    ("dominant_section", "denoiser"): measured_profile,
    ("dominant_section", "vae"): lambda: measured_profile(iterations=[iteration(vae_ms=20_000)]),
    ("dominant_section", "encoder"): lambda: measured_profile(iterations=[iteration(text_ms=20_000)]),
    ("dominant_section", "other"): lambda: measured_profile(iterations=[iteration(postprocess_ms=20_000)]),
    ("dominant_section", "between"): lambda: measured_profile(iterations=[iteration(between_ms=2_000)]),
    ("prompt_encoded_again", "in_one_call"): lambda: measured_profile(iterations=[encoding_again(2)]),
    ("prompt_encoded_again", "over_calls"): lambda: measured_profile(
        iterations=[iteration(text_ms=500)] * 2, repeated=False
    ),
    ("offload_dominates", "busy"): lambda: moving(milliseconds=1_000),
    ("moved_each_step", "in_again"): lambda: moving(milliseconds=1),
    ("attention_written_out", "model"): lambda: written_out(share_of_macs=0.2, share_of_bytes=0.6),
    ("attention_written_out", "encoder"): lambda: _as_text_encoder(written_out(share_of_macs=0.2)),
    ("launch_bound", "accelerator"): lambda: many_operations(1_000, microseconds=8, share_of_peak=0.05),
    ("launch_bound", "cpu"): lambda: many_operations(1_000, microseconds=8, share_of_peak=0.05, device=CPU),
    ("scheduler_overhead", "step"): lambda: measured_profile(iterations=[iteration(scheduler_ms=100)]),
    ("cache_never_hits", "no_hit"): lambda: with_cache_events([False] * 10, FirstBlockCache=GB),
    ("cache_seldom_hits", "few_hits"): lambda: with_cache_events([False] * 19 + [True], FirstBlockCache=GB),
    ("vae_decode_memory", "one_picture"): lambda: with_vae_peak(9 * GB),
    ("vae_decode_memory", "several_pictures"): lambda: with_pictures(with_vae_peak(9 * GB), pictures=4),
    ("memory_not_freed", "grows"): lambda: ends_with(3 * GB, 4 * GB, 5 * GB),
    ("memory_not_freed", "kept"): lambda: ends_with(3 * GB, 4 * GB),
    ("fragmentation", "reserved"): lambda: reserving(5 * GB, 9 * GB),
    ("warm_up", "kept_apart"): lambda: measured_profile(
        iterations=[iteration(times=3, warmup=True), iteration(), iteration()]
    ),
    ("warm_up", "in_the_figures"): lambda: measured_profile(iterations=[iteration(times=3), iteration(), iteration()]),
    ("warm_up", "first_step"): lambda: measured_profile(
        iterations=[iteration(unet_ms=[9_000, 1_000, 1_000, 1_000, 1_000])], steps=5
    ),
}
"""By rule and case."""


def _as_text_encoder(profile: Profile) -> Profile:
    unet = replace(profile.components["unet"], role="text_encoder")
    return replace(profile, components={**profile.components, "unet": unet})
