"""Runs against what is expected on their accelerator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import diffprof
from diffprof.findings import findings
from diffprof.findings.finding import Finding
from diffprof.record.measured import Device, Iteration, Measured, Move, Sample, Span
from diffprof.record.profile import Profile
from diffprof.render.findings import finding_lines
from tests.prediction.samples import stable_diffusion_profile

T4 = Device("Tesla T4", "cuda", 16 * 2**30)


def run_of(seconds: Mapping[str, float], device: Device = T4, moves: tuple[Move, ...] = ()) -> Profile:
    """A run whose components took so long in all their calls together."""
    profile = stable_diffusion_profile()
    samples, start = [], 0
    for number, call in enumerate(profile.calls):
        calls = profile.components[call.component].calls if call.component in profile.components else 1
        taken = round(seconds.get(call.component, 0.0) / calls * 1e9)
        samples.append(Sample(f"{call.component}_{call.method}", Span(start, taken), call.component, call=number))
        start += taken
    return replace(profile, measured=Measured(device, (Iteration(0, Span(0, start), tuple(samples), moves=moves),)))


def expected(**settings: str) -> dict[str, float]:
    parts = diffprof.predict(stable_diffusion_profile(), gpu="t4", **settings).accelerators["t4"].components
    return {slot: part.total_seconds for slot, part in parts.items() if slot != "pipeline"}


def slow_findings(profile: Profile) -> list[Finding]:
    return [finding for finding in findings(profile) if finding.rule == "slower_than_expected"]


def test_a_run_as_expected_says_nothing() -> None:
    assert slow_findings(run_of(expected())) == []


def test_a_slow_component_is_named_with_the_share_that_was_reached() -> None:
    times = expected()
    (found,) = slow_findings(run_of({**times, "vae": times["vae"] + 2 * sum(times.values())}))
    assert (found.case, found.evidence["component"], found.evidence["device"]) == ("component", "vae", "t4")
    assert abs(float(found.evidence["speed_share"] or 0) - 1 / 3) < 0.01
    assert finding_lines(found).title.startswith("This ran at 33.3 % of what is expected on t4")


def test_attention_on_the_math_path_is_named() -> None:
    times = {**expected(), "unet": 1.0 * expected(attention="math")["unet"]}
    assert times["unet"] > 1.6 * expected()["unet"]
    (found,) = slow_findings(run_of(times))
    assert found.case == "attention"
    assert "unet is slow because attention took the math path" in finding_lines(found).title


def test_a_run_that_moved_weights_or_an_unknown_device_says_nothing() -> None:
    slow = {slot: 9 * seconds for slot, seconds in expected().items()}
    assert slow_findings(run_of(slow))
    assert not slow_findings(run_of(slow, moves=(Move("unet", "host to device", 1, 0, 0),)))
    assert not slow_findings(run_of(slow, device=Device("Some GPU", "cuda")))
