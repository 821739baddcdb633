"""Assign component calls to the stages of a generation."""

from __future__ import annotations

from diffprof.record.fit import DECODE, DENOISE, ENCODE
from diffprof.record.profile import Profile

DENOISING = ("denoiser", "controlnet", "adapter")


def stages_of_calls(profile: Profile) -> list[str]:
    """The stage of each call: before the first step it is encoding, after the last one decoding."""
    calls = [call for call in profile.calls if call.component != "pipeline"]
    looped = [number for number, call in enumerate(calls) if call.step is not None]
    if not looped:
        looped = [n for n, call in enumerate(calls) if profile.components[call.component].role in DENOISING]
    stages = []
    for number, call in enumerate(calls):
        if call.step is not None or profile.components[call.component].role in DENOISING:
            stages.append(DENOISE)
        elif (looped and number > looped[-1]) or (looped and number > looped[0] and "decode" in call.method):
            stages.append(DECODE)
        elif looped:
            stages.append(ENCODE)
        else:
            stages.append(DECODE if "decode" in call.method else ENCODE)
    return stages
