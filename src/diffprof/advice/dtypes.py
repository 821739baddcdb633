"""Choose the dtype for accelerators that do not support that of the model."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from diffprof.catalogue.accelerators import Accelerator
from diffprof.catalogue.names import resolve
from diffprof.errors import DiffprofError
from diffprof.record.profile import Profile

HALF = "float16"


def dtype_on(model: Any, dtype: Any, accelerators: Sequence[Accelerator]) -> Any:
    """The requested dtype; float16 if none was requested and no accelerator supports that of the model."""
    own = _published_dtype(model) if dtype is None else None
    # Laws only cover the published dtype; another one has to be counted.
    if own is None or not accelerators or find_spec("torch") is None:
        return dtype
    lack = all(own not in each.peak_flops_per_second and HALF in each.peak_flops_per_second for each in accelerators)
    return HALF if lack else dtype


def dtype_assumption(profile: Profile, accelerator: Accelerator) -> str | None:
    """An assumption about an accelerator that does not support the model's published dtype; else None."""
    own = _published_dtype(profile.request.model)
    if own is None or own in accelerator.peak_flops_per_second:
        return None
    if profile.request.dtype in (own, None):
        return f"{accelerator.name} does not compute in {own}: products are emulated, slowly; count it in {HALF}"
    return (
        f"{accelerator.name} does not compute in {own}, in which {profile.request.model} was published: "
        f"{profile.request.dtype} is taken, whose range is smaller; look at the result"
    )


def _published_dtype(model: Any) -> str | None:
    try:
        entry = resolve(model).entry
    except (DiffprofError, TypeError):
        return None  # not a known name; opening it will report an error
    return entry.dtype if entry is not None else None
