"""The model that a law is derived for: the arguments of its call that vary, and its call for a sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from diffprof.counting.derivation.binning import BINNING, binned_sizes
from diffprof.counting.derivation.sampling import PROMPT, CountedSample, Sampler
from diffprof.laws.fitting import SIDES
from diffprof.laws.prompts import USUAL_TOKENS, prompt_of
from diffprof.laws.variables import SOURCES
from diffprof.pipelines.arguments import call_parameters, find_argument
from diffprof.record.texts import STAND_IN_PROMPT


class Subject:
    """An opened model, and its call without arguments."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.default = sampler.run({})
        self.parameters = call_parameters(sampler.opened.pipeline)
        found = {source: find_argument(self.parameters, source) for source in SOURCES}
        names = {source: name for source, name in found.items() if name is not None}
        request = self.default.profile.request
        # The requested number, if the pipeline computes with another one.
        used = {name: request.arguments.get(name, request.value(name)) for name in names.values()}
        self.sources = {source: name for source, name in names.items() if isinstance(used[name], int)}
        self.defaults: dict[str, Any] = {name: used[name] for name in self.sources.values()}
        if request.defaults.get(PROMPT) == STAND_IN_PROMPT:
            self.sources["tokens"] = PROMPT
            self.defaults[PROMPT] = USUAL_TOKENS
        self.guidance = find_argument(self.parameters, "guidance_scale")
        if self.guidance is not None and not isinstance(request.value(self.guidance), int | float):
            self.guidance = None
        self.default_scale: float | None = None if self.guidance is None else request.value(self.guidance)
        self.is_video = "num_frames" in self.sources
        self.sizes = binned_sizes(sampler.opened.pipeline, self.default.profile) if BINNING in self.parameters else ()

    def default_number(self, source: str) -> int:
        number: int = self.defaults[self.sources[source]]
        return number

    def default_sides(self) -> dict[str, int]:
        return {side: self.default_number(side) for side in SIDES if side in self.sources}

    def run(self, numbers: Mapping[str, int], scale: float | None) -> CountedSample:
        """Count a sample; resolution binning is off, so that the sizes are not changed."""
        other = self.sizes and (numbers.get("height"), numbers.get("width")) not in self.sizes
        return self.sampler.run(self.arguments(numbers, scale) | ({BINNING: False} if other else {}))

    def arguments(self, numbers: Mapping[str, int], scale: float | None) -> dict[str, Any]:
        """Return the call arguments for these numbers."""
        arguments: dict[str, Any] = {
            self.sources[source]: prompt_of(value) if source == "tokens" else value
            for source, value in numbers.items()
            if source != "tokens" or value != USUAL_TOKENS
        }
        # A scale that equals the default is left out: giving it would drop the recommendation for a second one.
        if self.guidance is None or scale in (None, self.default.profile.request.value(self.guidance)):
            return arguments
        return {**arguments, self.guidance: scale}

    def default_numbers(self, sources: Iterable[str]) -> dict[str, int]:
        return {source: self.default_number(source) for source in sources}
