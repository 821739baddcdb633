"""The top of a report: one sentence, and the numbers that people look for first."""

from __future__ import annotations

from diffprof.breakdown.components import component_table
from diffprof.breakdown.memory import memory_table
from diffprof.breakdown.sections import BETWEEN, section_table
from diffprof.breakdown.throughput import generation
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.report.markup import Markup, element


def lead(profile: Profile) -> str:
    """What one generation costs, where most of it goes, and how long it took if it was measured."""
    return " ".join(part for part in (_cost(profile), _time(profile)) if part)


def _cost(profile: Profile) -> str:
    total = profile.total
    if not total.macs:
        return "Nothing was counted for this generation." if not profile.calls else "This generation has no MACs."
    most = max(component_table(profile), key=lambda row: row.macs)
    calls = numbers.times(most.calls, "call")
    return (
        f"One generation costs {numbers.macs(total.macs)} ({numbers.flops(total.flops)}); "
        f"{numbers.percent(most.share)} of that is {most.component} in {calls}."
    )


def _time(profile: Profile) -> str:
    whole = generation(profile)
    if whole is None or profile.measured is None:
        return ""
    took = f"It took {numbers.nanoseconds(whole.median_ns)} on {profile.measured.device.name}"
    sections = [row for row in section_table(profile.measured.timed) if row.section != BETWEEN]
    if not sections:
        return f"{took}."
    longest = max(sections, key=lambda row: row.self_ns)
    return f"{took}, {numbers.percent(longest.self_share)} of it in {longest.section}."


def cards(profile: Profile) -> Markup:
    """The numbers that people look for first, each with its label."""
    total = profile.total
    values = [
        (numbers.macs(total.macs), f"exactly {numbers.exact(total.macs)}"),
        (numbers.flops(total.flops), "two for each MAC"),
        (numbers.parameters(total.parameters), f"parameters, {numbers.gigabytes(total.weight_bytes)} of weights"),
        *_step_cards(profile),
        *_run_cards(profile),
    ]
    divs = [element("div", element("b", value), element("span", label), class_="card") for value, label in values]
    return element("div", *divs, class_="cards")


def _step_cards(profile: Profile) -> list[tuple[str, str]]:
    if not profile.steps.stages:
        return []
    counts = " + ".join(numbers.exact(stage.count) for stage in profile.steps.stages)
    return [(counts, f"denoising steps, {numbers.macs(profile.steps.macs)} each")]


def _run_cards(profile: Profile) -> list[tuple[str, str]]:
    whole = generation(profile)
    if whole is None:
        return []
    times = "one call" if whole.iterations == 1 else f"median of {numbers.exact(whole.iterations)}"
    values = [(numbers.nanoseconds(whole.median_ns), f"per generation, {times}")]
    if whole.outputs_per_second is not None:
        values.append((numbers.per(60 * whole.outputs_per_second, f"{whole.outputs_are}s", "min"), "throughput"))
    if whole.flops_per_second is not None:
        values.append((numbers.flops_per_second(whole.flops_per_second), "end to end"))
    peaks = memory_table(profile)
    on_device = [row.device_peak_bytes for row in peaks if row.device_peak_bytes is not None]
    if on_device:
        values.append((numbers.gigabytes(max(on_device)), "peak device memory"))
    elif peaks:
        values.append((numbers.gigabytes(max(row.rss_peak_bytes for row in peaks)), "highest resident memory"))
    return values
