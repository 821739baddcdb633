"""How a pipeline executed a request: steps, dtype, size and tokens."""

from __future__ import annotations

from dataclasses import dataclass

from diffprof.record.profile import Profile
from diffprof.record.sizes import ComputedSize
from diffprof.record.texts import EncodedText


@dataclass(frozen=True)
class Execution:
    """How a request is executed, for what it does not specify or what the pipeline changes."""

    steps: tuple[int, ...] = ()
    """Executed steps of each denoising loop."""
    dtype: str = ""
    """The requested dtype, else that of the denoiser; empty if there is neither."""
    computed_size: ComputedSize | None = None
    """The size at which the pipeline computes, if it differs from that of the result; else None."""
    texts: tuple[EncodedText, ...] = ()
    """The inputs of the text encoders."""


def execution_of(profile: Profile) -> Execution:
    """How the pipeline of a profile executed its request."""
    denoisers = [part.dtype for part in profile.components.values() if part.role == "denoiser"]
    return Execution(
        steps=tuple(stage.count for stage in profile.steps.stages),
        dtype=profile.request.dtype or next(iter(denoisers), ""),
        computed_size=profile.computed_size,
        texts=profile.texts,
    )
