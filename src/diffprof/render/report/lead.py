"""The top of a report: one sentence, and the numbers that people look for first."""

from __future__ import annotations

from collections.abc import Sequence

from diffprof.breakdown.components import component_table
from diffprof.breakdown.memory_peaks import counted_peak_bytes, memory_table
from diffprof.breakdown.sections import BETWEEN, section_table
from diffprof.breakdown.throughput import generation
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.report.markup import Markup, element


def lead(profile: Profile) -> str:
    """A sentence with the measured time, if there is one, the cost, and where most of it goes."""
    return " ".join(part for part in (_time(profile), _cost(profile)) if part)


def _cost(profile: Profile) -> str:
    total = profile.total
    if not total.macs:
        return "Nothing was counted for this generation." if not profile.calls else "This generation has no MACs."
    most = max(component_table(profile), key=lambda row: row.macs)
    calls = numbers.times(most.calls, "call")
    whose = "It costs" if generation(profile) else "One generation costs"
    return (
        f"{whose} {numbers.macs(total.macs, brief=True)} ({numbers.flops(total.flops, brief=True)}; "
        f"exactly {numbers.exact(total.macs)} MACs); "
        f"{numbers.percent(most.share)} of that is {most.component} in {calls}."
    )


def _time(profile: Profile) -> str:
    whole = generation(profile)
    if whole is None or profile.measured is None:
        return ""
    took = f"One generation took {numbers.nanoseconds(whole.median_ns)} on {profile.measured.device.name}"
    sections = [row for row in section_table(profile.measured.timed_iterations) if row.section != BETWEEN]
    if not sections:
        return f"{took}."
    longest = max(sections, key=lambda row: row.self_ns)
    return f"{took}, {numbers.percent(longest.self_share)} of it in {longest.section}."


def cards(profile: Profile) -> Markup:
    """Cards with the most important numbers: measured time and memory, if any, then the counted cost."""
    total = profile.total
    values = [
        *_run_cards(profile),
        (numbers.macs(total.macs, brief=True), f"= {numbers.flops(total.flops, brief=True)}"),
        *_component_cards(profile),
        *_peak_cards(profile),
        (
            numbers.parameters(total.parameters, brief=True),
            f"parameters, {numbers.gigabytes(total.weight_bytes, brief=True)} of weights",
        ),
        *_step_cards(profile),
    ]
    return card_row(values)


def card_row(values: Sequence[tuple[str, str]]) -> Markup:
    """A card for each value and its label; nothing without values."""
    divs = [element("div", element("b", value), element("span", label), class_="card") for value, label in values]
    return element("div", *divs, class_="cards") if divs else Markup()


def _component_cards(profile: Profile) -> list[tuple[str, str]]:
    """The component with the most MACs; nothing for a measured run, whose times say more."""
    rows = component_table(profile)
    if profile.measured is not None or not profile.total.macs:
        return []
    most = max(rows, key=lambda row: row.macs)
    return [(numbers.percent(most.share), f"of the MACs are {most.component}, in {numbers.times(most.calls, 'call')}")]


def _peak_cards(profile: Profile) -> list[tuple[str, str]]:
    """The counted peak memory; nothing for a measured run."""
    if profile.measured is not None or not profile.components:
        return []
    peak = counted_peak_bytes(profile)
    binary = numbers.gibibytes(peak, brief=True)
    return [(numbers.gigabytes(peak, brief=True), f"= {binary} at the peak: all weights, the largest activations")]


def _step_cards(profile: Profile) -> list[tuple[str, str]]:
    if not profile.steps.stages:
        return []
    counts = " + ".join(numbers.exact(stage.count) for stage in profile.steps.stages)
    return [(counts, f"denoising steps, {numbers.macs(profile.steps.macs, brief=True)} each")]


def _run_cards(profile: Profile) -> list[tuple[str, str]]:
    whole = generation(profile)
    if whole is None:
        return []
    times = "one call" if whole.iterations == 1 else f"median of {numbers.exact(whole.iterations)}"
    values = [(numbers.nanoseconds(whole.median_ns), f"per generation, {times}")]
    peaks = memory_table(profile)
    on_device = [row.device_peak_bytes for row in peaks if row.device_peak_bytes is not None]
    if on_device:
        values.append((numbers.gigabytes(max(on_device), brief=True), "peak device memory"))
    elif peaks:
        values.append(
            (numbers.gigabytes(max(row.rss_peak_bytes for row in peaks), brief=True), "highest resident memory")
        )
    if whole.outputs_per_second is not None:
        rate = (
            numbers.flops_per_second(whole.flops_per_second, brief=True) if whole.flops_per_second is not None else ""
        )
        label = f"throughput, {rate} end to end" if rate else "throughput"
        values.append((numbers.per(60 * whole.outputs_per_second, f"{whole.outputs_are}s", "min"), label))
    return values
