"""Provide the profiles of a model and of variants of a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from diffprof.errors import DiffprofError, RequestError
from diffprof.record.profile import Cost, Profile
from diffprof.record.progress import Progress
from diffprof.record.request import Request
from diffprof.record.saved_profiles import load_saved, saved_file
from diffprof.settings.limits import with_full_names


@dataclass(frozen=True)
class Source:
    """A profile, its request, and a function that counts other requests; each is counted once."""

    profile: Profile
    request: Request
    count: Callable[[Request], Profile]
    _known: dict[str, Profile | None] = field(default_factory=dict)

    def variant(self, request: Request) -> Profile | None:
        """The profile of another request; None if the pipeline does not support it."""
        if request == self.request:
            return self.profile
        key = repr(request)
        if key not in self._known:
            try:
                self._known[key] = self._share_costs(self.count(request))
            except DiffprofError:
                self._known[key] = None  # the pipeline has no such feature, size or argument
        return self._known[key]

    def _share_costs(self, profile: Profile) -> Profile:
        """Replace costs by equal ones of earlier profiles, so that their predictions are computed once."""
        known = [profile for profile in (self.profile, *self._known.values()) if profile is not None]
        if profile.request.model != self.profile.request.model:
            return profile
        earlier = {(call.component, id(call.cost)): call.cost for other in known for call, _ in other.costs()}
        shared: dict[int, Cost] = {}
        for call, _ in profile.costs():
            for (component, _), cost in earlier.items():
                if component == call.component and cost is not call.cost and is_same_cost(cost, call.cost):
                    shared[id(call.cost)] = cost
                    break
        calls = tuple(
            replace(call, cost=shared[id(call.cost)]) if id(call.cost) in shared else call for call in profile.calls
        )
        return replace(profile, calls=calls) if shared else profile


def is_same_cost(one: Cost, other: Cost) -> bool:
    """Whether two calls have the same operations and allocations; sums are compared first, because they are cheap."""
    return (
        one.work == other.work
        and one.peak_live_bytes == other.peak_live_bytes
        and one.allocations == other.allocations
        and one == other
    )


MODEL_OPTIONS = (
    *("config", "assume_defaults", "pipeline_defaults", "lora", "controlnet", "ip_adapter", "guidance_interval"),
    "cache",
)
"""Arguments of `diffprof.profile` that are about the model, not about the call.

How weights are stored and which attention runs are left out: `fit`, `predict` and `advise` have options of these names,
which change no count.
"""


def open_source(
    model: Any, arguments: Mapping[str, Any] | None = None, progress: Progress | None = None, **options: Any
) -> Source:
    """Open the source for a name, folder, hub id, saved profile, its file, or live pipeline.

    `arguments` and `options` are those of `diffprof.profile`, wherever they stand; a saved profile has its own.
    """
    given = with_full_names(dict(arguments or {}))
    options |= {name: given.pop(name) for name in MODEL_OPTIONS if name in given}
    if isinstance(model, Profile):
        _check_nothing_given("This", given, options)
        return source_of_profile(model)
    if isinstance(model, str | Path):
        file = saved_file(str(model))
        if file is not None:
            _check_nothing_given(str(model), given, options)
            return source_of_profile(load_saved(file))
        return source_of_request(Request.create(model, given, **options), progress)
    return _source_of_pipeline(model, given, options)


def _check_nothing_given(profile: str, arguments: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Refuse what changes the request: a saved profile has its own, and it would be ignored silently."""
    given = [*arguments, *(name for name, value in options.items() if value)]
    if given:
        raise RequestError(
            f"{profile} is a saved profile with its own request; leave out {given[0]}, or name the model instead."
        )


def source_of_request(request: Request, progress: Progress | None = None) -> Source:
    """The source for a request of a model by its name."""
    from diffprof.counting.request_profile import count_request

    return source_of_profile(count_request(request, progress=progress))


def source_of_profile(profile: Profile) -> Source:
    """The source for a profile; variants are counted with its model's name."""
    from diffprof.counting.request_profile import count_request

    def count(request: Request) -> Profile:
        if profile.request.source == "object":
            raise RequestError("This profile was made from a live pipeline, which cannot be opened by name.")
        return count_request(request)

    # Recommended settings are already among the arguments.
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
