"""A rule about runs that are slower than predicted for their accelerator."""

from __future__ import annotations

import math
from collections.abc import Iterator

from diffprof.catalogue.accelerators import Accelerator, match_accelerator
from diffprof.errors import RequestError
from diffprof.findings.finding import Finding, Rule, Threshold
from diffprof.record.measured import Measured
from diffprof.record.profile import Profile
from diffprof.record.run_settings import RunSettings

SPEED_SHARE = Threshold("speed_share", 0.8, "and outside of the interval in which nine of ten times are expected")
CLOSER_SHARE = Threshold(
    "closer_share", 0.5, "so much nearer must a time be to that of another cause, for that cause to be named"
)


def slower_than_expected(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """The run is slower than predicted. Not applied to runs with offload, a cache, or counts that differ."""
    device = measured.device
    accelerator = match_accelerator(device.name, memory_bytes=device.memory_bytes)
    is_plain = not any(iteration.moves or iteration.caches for iteration in measured.timed_iterations)
    if accelerator is None or not is_plain or measured.mismatches or not measured.timed_iterations:
        return
    finding = _finding(profile, measured, accelerator)
    if finding is not None:
        yield finding


def _finding(profile: Profile, measured: Measured, accelerator: Accelerator) -> Finding | None:
    # Imported here, because predicting needs numpy, and runs on a CPU or an unknown device do not get here.
    from diffprof.prediction.calibration import component_seconds
    from diffprof.prediction.device import basis_of, device_of
    from diffprof.prediction.time import job_of, predict_time

    device = device_of(accelerator)
    try:
        expected = predict_time(job_of(profile), device, basis_of(accelerator))
    except RequestError:
        return None  # the profile does not list its operations
    taken = component_seconds(profile, measured.timed_iterations)
    expected_by_slot = {slot: part.total_seconds for slot, part in expected.components.items() if slot in taken}
    total, whole = sum(taken.values()), sum(expected_by_slot.values())
    margin = expected.high_seconds / expected.total_seconds if expected.total_seconds else 1.0
    if not whole or total <= margin * whole or whole / total > SPEED_SHARE.value:
        return None
    slowest = max(expected_by_slot, key=lambda slot: taken[slot] - expected_by_slot[slot])
    unfused = predict_time(job_of(profile, RunSettings(attention="math")), device).components[slowest].total_seconds
    is_attention = _is_closer(taken[slowest], unfused, expected_by_slot[slowest])
    return Finding(
        "slower_than_expected",
        "attention" if is_attention else "component",
        1 - whole / total,
        {
            "speed_share": whole / total,
            "device": accelerator.name,
            "expected_seconds": whole,
            "taken_seconds": total,
            "component": slowest,
            "component_seconds": taken[slowest],
            "component_expected_seconds": expected_by_slot[slowest],
            "unfused_seconds": unfused,
        },
    )


def _is_closer(taken: float, other: float, expected: float) -> bool:
    """Whether the time under another cause explains the measured one: their ratio is much closer to 1."""
    if other <= expected or taken <= 0:
        return False
    return abs(math.log(taken / other)) < CLOSER_SHARE.value * abs(math.log(taken / expected))


SLOWER_THAN_EXPECTED = Rule(
    "slower_than_expected",
    "The run is slower than expected on its accelerator.",
    ("attention", "component"),
    (SPEED_SHARE, CLOSER_SHARE),
    slower_than_expected,
)
