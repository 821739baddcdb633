"""Open what the user named: a saved profile, or a model to count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from diffprof import catalogue
from diffprof.cli.output.progress import progress_bar
from diffprof.errors import FileFormatError, FileProblem, RequestError
from diffprof.record.profile import Profile
from diffprof.record.saved_profiles import load_saved, saved_file

if TYPE_CHECKING:
    from diffprof.advice.sources import Source
    from diffprof.cli.options.groups import CountOptions


def load_saved_profile(name: Path) -> Profile:
    """Load a saved profile. If there is none and the name is a model's, the error says how to count it."""
    try:
        return load_saved(saved_file(str(name)) or name)
    except FileFormatError as error:
        if error.reason is not FileProblem.missing or catalogue.content(str(name)) is None:
            raise
        message = f"{name} is a model, not a saved profile; count it with `diffprof profile {name}`."
        raise FileFormatError(message) from error


def open_model(
    model: str, requested: CountOptions, quiet: bool, gpus: Sequence[str] = (), hardware: Path | None = None
) -> Source:
    """Load a saved profile, or count a model with the given options.

    If no dtype is requested and none of the accelerators supports the model's own, it is counted in float16.
    """
    from diffprof.advice.dtypes import dtype_on
    from diffprof.advice.sources import open_source, source_of_request
    from diffprof.catalogue.accelerators import find_accelerator
    from diffprof.catalogue.own_accelerators import known_accelerators

    if saved_file(model) is not None:
        _check_no_call_options(model, requested)
        return open_source(model)
    request = requested.request(model)
    accelerators = [find_accelerator(name, known_accelerators(hardware)) for name in gpus if name != "all"]
    request = replace(request, dtype=dtype_on(model, request.dtype, accelerators))
    with progress_bar(quiet) as progress:
        return source_of_request(request, progress=progress)


def _check_no_call_options(profile: str, requested: CountOptions) -> None:
    """Refuse options that change the call: a saved profile has its own, and they would be ignored silently."""
    changed = [field.name for field in fields(requested) if getattr(requested, field.name) != field.default]
    if changed:
        option = {"settings": "set"}.get(changed[0], changed[0]).replace("_", "-")
        raise RequestError(
            f"{profile} is a saved profile with its own request; leave out --{option}, or name the model instead."
        )
