"""Dry-run one model for many requests in one process, with the values that laws are fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from diffprof.catalogue.recommended_settings import add_recommended
from diffprof.counting.counted_calls import CountedCalls
from diffprof.counting.derivation.program_values import program_values
from diffprof.counting.profile import compose_profile, count_call
from diffprof.laws.variation import Variation
from diffprof.pipelines.arguments import call_arguments
from diffprof.pipelines.opening import OpenedPipeline, open_virtual
from diffprof.pipelines.patching import DRY_RUN_LOCK
from diffprof.pipelines.quiet import quiet_libraries
from diffprof.record.profile import Profile
from diffprof.record.request import Request

PROMPT = "prompt"
PLAIN = Variation()


@dataclass(frozen=True)
class CountedSample:
    """One counted request."""

    request: Request
    profile: Profile
    values: dict[str, Any]


class Sampler:
    """A model that is opened once; counted component calls are reused by later requests."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._counted: dict[Variation, CountedCalls] = {}
        """Counted calls by variation: with tiling, for example, a VAE does other work for the same input."""
        self._values: dict[int, Any] = {}
        with DRY_RUN_LOCK, quiet_libraries():
            self.opened: OpenedPipeline = open_virtual(model, None, None)

    def run(self, arguments: Mapping[str, Any], anew: bool = False, variation: Variation = PLAIN) -> CountedSample:
        """Count the call with these arguments and the recommended others; with `anew`, reuse no earlier counts."""
        scheduler, enable = variation.scheduler, variation.enable
        request = Request.create(self.model, arguments, scheduler=scheduler, enable=enable, changes=variation.changes)
        request = add_recommended(request)
        pipeline = self.opened.pipeline
        counted = CountedCalls() if anew else self._counted.setdefault(variation, CountedCalls())
        with DRY_RUN_LOCK, quiet_libraries():
            call = call_arguments(pipeline, request.arguments, self.opened.call)
            result, used = count_call(self.opened, request, call, None, counted)
            opened = copy(self.opened)
            opened.changes = variation.changes
            profile = compose_profile(opened, call, used, result, scheduler, enable, request.recommended)
        known = {} if anew else self._values
        stand_ins = self._with_stand_in_prompt(request, used)
        return CountedSample(request, profile, program_values(pipeline, call, stand_ins, result, profile, known))

    def _with_stand_in_prompt(self, request: Request, used: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the stand-ins of the same call without a prompt, because samples differ only in its length."""
        if PROMPT not in request.arguments or PROMPT in used:
            return used
        others = {name: value for name, value in request.arguments.items() if name != PROMPT}
        call = call_arguments(self.opened.pipeline, others, self.opened.call)
        return {**{name: used.get(name, value) for name, value in call.stand_ins.items()}, **used}
