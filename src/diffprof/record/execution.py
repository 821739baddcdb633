"""How a pipeline executed a request, as answers show it: steps, dtype, size and tokens."""

from __future__ import annotations

from dataclasses import dataclass

from diffprof.record.profile import Profile
from diffprof.record.sizes import ComputedSize
from diffprof.record.texts import EncodedText


@dataclass(frozen=True)
class Execution:
    """How a request is carried out, where it says nothing itself or the pipeline does something else."""

    steps: tuple[int, ...] = ()
    """Of each denoising loop, as executed."""
    dtype: str = ""
    """That was asked for, else that of the denoiser; empty where there is neither."""
    computed_size: ComputedSize | None = None
    """None where the pipeline computes at the size that it makes."""
    texts: tuple[EncodedText, ...] = ()
    """What text encoders were given."""


def execution_of(profile: Profile) -> Execution:
    """What the pipeline of a profile made of its request."""
    denoisers = [part.dtype for part in profile.components.values() if part.role == "denoiser"]
    return Execution(
        steps=tuple(stage.count for stage in profile.steps.stages),
        dtype=profile.request.dtype or next(iter(denoisers), ""),
        computed_size=profile.computed_size,
        texts=profile.texts,
    )
