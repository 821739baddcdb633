"""Choose the dtype for accelerators that do not support that of the model."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from diffprof.catalogue.accelerators import Accelerator
from diffprof.catalogue.names import resolve
from diffprof.errors import DiffprofError
from diffprof.record.profile import Profile

INSTEAD = ("float16", "bfloat16", "float32")
"""What a model is computed in where its own dtype is lacking, the most usual first."""


def dtype_on(model: Any, dtype: Any, accelerators: Sequence[Accelerator]) -> Any:
    """The requested dtype; one that all accelerators support if none was requested and all lack that of the model."""
    own = _published_dtype(model) if dtype is None else None
    # Laws only cover the published dtype; another one has to be counted.
    if own is None or not accelerators or find_spec("torch") is None:
        return dtype
    if any(own in each.peak_flops_per_second for each in accelerators):
        return dtype
    return next((one for one in INSTEAD if all(one in each.peak_flops_per_second for each in accelerators)), dtype)


def dtype_assumption(profile: Profile, accelerator: Accelerator) -> str | None:
    """An assumption about an accelerator that does not support the model's published dtype; else None."""
    own = _published_dtype(profile.request.model)
    if own is None or own in accelerator.peak_flops_per_second:
        return None
    if not is_in_another_dtype(profile):
        usable = [one for one in INSTEAD if one in accelerator.peak_flops_per_second]
        hint = f"; count it in {usable[0]}" if usable else ""
        return f"{accelerator.name} does not compute in {own}: products are emulated, slowly{hint}"
    range_note = ", whose range is smaller; look at the result" if profile.request.dtype == "float16" else ""
    return (
        f"{accelerator.name} does not compute in {own}, in which {profile.request.model} was published: "
        f"{profile.request.dtype} is taken{range_note}"
    )


def is_in_another_dtype(profile: Profile) -> bool:
    """Whether the model was counted in a dtype in which it was not published."""
    return profile.request.dtype not in (None, _published_dtype(profile.request.model))


def _published_dtype(model: Any) -> str | None:
    try:
        entry = resolve(model).entry
    except (DiffprofError, TypeError):
        return None  # not a known name; opening it will report an error
    return entry.dtype if entry is not None else None
