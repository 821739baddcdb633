"""Where profiles of a model, and of variants of what is asked of it, come from: the one door that counts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diffprof.errors import DiffprofError, RequestError
from diffprof.record.profile import Profile
from diffprof.record.progress import Progress
from diffprof.record.request import Request
from diffprof.record.saved import load_saved, saved_file


@dataclass(frozen=True)
class Source:
    """A profile, the request for it, and a way to have the profiles of other requests; each is counted once."""

    profile: Profile
    request: Request
    count: Callable[[Request], Profile]
    _known: dict[str, Profile | None] = field(default_factory=dict)

    def variant(self, request: Request) -> Profile | None:
        """The profile of another request; None where the pipeline cannot do what it asks for."""
        if request == self.request:
            return self.profile
        key = repr(request)
        if key not in self._known:
            try:
                self._known[key] = self.count(request)
            except DiffprofError:
                self._known[key] = None  # the pipeline has no such switch, size or argument
        return self._known[key]


def open_source(
    model: Any, arguments: Mapping[str, Any] | None = None, progress: Progress | None = None, **options: Any
) -> Source:
    """The source of a name, folder, hub id, saved profile, its file, or live pipeline.

    `arguments` and `options` are those of `diffprof.profile`; a saved profile has its own.
    """
    if isinstance(model, Profile):
        return source_of_profile(model)
    if isinstance(model, str | Path):
        file = saved_file(str(model))
        if file is not None:
            return source_of_profile(load_saved(file))
        return source_of_request(Request.create(model, arguments, **options), progress)
    return _source_of_pipeline(model, arguments or {}, options)


def source_of_request(request: Request, progress: Progress | None = None) -> Source:
    """The source of a model by its name."""
    from diffprof.counting.cached import count_request

    return source_of_profile(count_request(request, progress=progress))


def source_of_profile(profile: Profile) -> Source:
    """The source that a profile is: variants are counted by its model's name."""
    from diffprof.counting.cached import count_request

    def count(request: Request) -> Profile:
        if profile.request.source == "object":
            raise RequestError("This profile was made from a live pipeline, which cannot be opened by name.")
        return count_request(request)

    # What was recommended is among the arguments already.
    return Source(profile, profile.request.as_request(profile.request.model), count)


def _source_of_pipeline(pipeline: Any, arguments: Mapping[str, Any], options: Mapping[str, Any]) -> Source:
    from diffprof.counting.profile import profile_call

    request = Request(
        type(pipeline).__name__,
        dict(arguments),
        dtype=options.get("dtype"),
        scheduler=options.get("scheduler"),
        enable=tuple(options.get("enable") or ()),
    )

    def count(other: Request) -> Profile:
        if other.changes:
            raise RequestError("A live pipeline is counted as it is.")
        return profile_call(
            pipeline, other.arguments, dtype=other.dtype, scheduler=other.scheduler, enable=other.enable
        )

    return Source(profile_call(pipeline, arguments, **options), request, count)
