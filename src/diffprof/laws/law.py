"""The law of one model: its programs, their proved requests, and the `Profile` of such a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from diffprof.catalogue.reader import find
from diffprof.laws.profiles import GivenCall, compose_profile
from diffprof.laws.programs import FilledProgram, NoVideo, OutsideOfLaw, Program
from diffprof.laws.prompts import count_tokens, prompt_of
from diffprof.laws.variation import OTHER_CHANGES, Variation, variation_of
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from diffprof.settings.limits import OTHER_NAMES, dtype_name

AS_PUBLISHED = Variation()
PLAIN = Request("")
"""A request with nothing but call arguments."""

SWITCHES = {
    "config": "with the model's own configuration",
    "component": "for whole generations, not for {} alone",
    "inputs": "for whole generations, not for inputs of one component",
    "assume_defaults": "with the model's own defaults",
}
"""Fields of a request for which a law covers only one value, with the words for it."""


@dataclass(frozen=True)
class Range:
    """The values of one number for which a program was proved."""

    least: int
    most: int
    multiple: int = 1
    """The number minus `offset` must be a multiple of this."""
    offset: int = 0

    def __contains__(self, value: int) -> bool:
        return self.least <= value <= self.most and (value - self.offset) % self.multiple == 0

    def __str__(self) -> str:
        if self.least == self.most:
            return f"{self.least:,}"
        step = "" if self.multiple == 1 else f" in steps of {self.multiple}"
        return f"{self.least:,} to {self.most:,}{step}"


def merge_ranges(ranges: Iterable[Range]) -> list[Range]:
    """Combine the ranges into as few as possible, in ascending order."""
    merged: list[Range] = []
    for one in sorted(set(ranges), key=lambda bounds: (bounds.least, -bounds.most)):
        before = merged[-1] if merged else None
        if before is not None and one.multiple == before.multiple == 1 and one.least <= before.most + 1:
            merged[-1] = replace(before, most=max(before.most, one.most))
        elif not any(one.least in other and one.least == one.most for other in merged):
            merged.append(one)
    return merged


@dataclass(frozen=True)
class Domain:
    """The requests for which a program was proved."""

    ranges: Mapping[str, Range]
    """By source, such as ``height``."""
    guidance: tuple[str, ...] = ()
    """Classes of guidance scales, from `GUIDANCE_CLASSES`; empty if the pipeline has no guidance."""
    most_pixels: int | None = None
    """The limit of height x width x images; None for no limit."""
    most_volume: int | None = None
    """The limit of height x width x frames of one image or video; None for no limit."""
    area_multiple: int = 1
    """Height x width must be a multiple of this; other sizes are padded."""
    sizes: tuple[tuple[int, int], ...] = ()
    """The heights and widths to which the pipeline maps all others; empty if it computes at any size."""
    least_volume: int | None = None
    """As `most_volume`, but a lower limit, for sides that are rounded down to whole cells; None for no limit.

    A dry run does not compute tables of large images, so their executed operations differ from those of small ones.
    """
    variation: Variation = AS_PUBLISHED
    """The changes of the request besides the call arguments."""

    def contains(self, numbers: Mapping[str, int], guidance: str | None, pixels: int) -> bool:
        if guidance is not None and guidance not in self.guidance:
            return False
        if any(numbers[source] not in bounds for source, bounds in self.ranges.items()):
            return False
        if self.most_volume is not None and volume(numbers) > self.most_volume:
            return False
        if self.least_volume is not None and volume(numbers, VOLUME_CELL) < self.least_volume:
            return False
        if self.area_multiple > 1 and numbers["height"] * numbers["width"] % self.area_multiple:
            return False
        if self.sizes and (numbers["height"], numbers["width"]) not in self.sizes:
            return False
        return self.most_pixels is None or pixels <= self.most_pixels


VOLUME_CELL = 16
"""The size in pixels of a cell; sides are rounded down to whole cells."""


def volume(numbers: Mapping[str, int], cell: int = 1) -> int:
    """Return the pixels of one image or video, in whole cells."""
    height, width = (numbers[side] // cell * cell if side in numbers else 1 for side in ("height", "width"))
    return height * width * numbers.get("num_frames", 1)


USUAL_SIDE = 1024


def requested_pixels(given: Mapping[str, Any]) -> int:
    """Return the pixels of all images together, with defaults for sides that are not given."""
    sides = [int(given.get(side) or USUAL_SIDE) for side in ("height", "width")]
    return sides[0] * sides[1] * int(given.get("num_images_per_prompt") or 1)


GUIDANCE_CLASSES = ("none", "below 1", "1", "above 1")


def guidance_class(scale: float) -> str:
    """Return the class of a guidance scale: pipelines use guidance if it is above 1, above 0, or not 0."""
    return "none" if scale <= 0 else "below 1" if scale < 1 else "1" if scale == 1 else "above 1"


@dataclass(frozen=True)
class Law:
    """All programs of one model."""

    model: str
    versions: Mapping[str, str]
    """The versions of torch, diffusers and transformers with which the law was proved."""
    parameters: tuple[str, ...]
    """The argument names of the pipeline's call."""
    sources: Mapping[str, str]
    """The call argument of each number of the law, if the pipeline has one."""
    defaults: Mapping[str, Any]
    """The default values of these arguments and of the guidance scale."""
    fixed: Mapping[str, Any]
    """Other arguments that are always given, as recommended for the model."""
    guidance: str | None
    """The name of the guidance scale argument."""
    programs: tuple[Program, ...]
    domains: tuple[Domain, ...]
    needs_both_sides: bool = False
    """Whether height and width are proved only together, because the pipeline ignores a single one."""

    def profile(self, request: Request, versions: Mapping[str, str] | None = None) -> Profile:
        """Return the profile of a request with recommended settings; `OutsideOfLaw` if the law does not cover it.

        Its environment has these versions; missing ones are those of the law.
        """
        given = self._pipeline_arguments(request)
        variation = self._variation(request)
        program, numbers = self._program_of(given, variation, self._defaults(request))
        call = GivenCall(given, request.recommended, {**self.versions, **(versions or {})}, request.enable, variation)
        return compose_profile(program.at(numbers), call)

    def fill(self, request: Request) -> FilledProgram:
        """Return the program of a request, filled with its numbers."""
        program, numbers = self.program(request)
        return program.at(numbers)

    def program(self, request: Request) -> tuple[Program, dict[str, int]]:
        """Return the program for a request, and the numbers of the request."""
        return self._program_of(self._pipeline_arguments(request), self._variation(request), self._defaults(request))

    def _program_of(
        self, given: Mapping[str, Any], variation: Variation, defaults: Mapping[str, Any]
    ) -> tuple[Program, dict[str, int]]:
        numbers, scale = self._numbers(given, defaults)
        return self._program(numbers, scale, requested_pixels(given), variation), numbers

    def arguments(self, numbers: Mapping[str, int]) -> dict[str, Any]:
        """Return call arguments with these numbers, and a prompt of this many words."""
        return {
            self.sources[source]: prompt_of(number) if source == "tokens" else number
            for source, number in numbers.items()
        }

    def proved_values(self) -> dict[str, list[str]]:
        """Return descriptions of the values of each number for which the law was proved."""
        ranges: dict[str, list[Range]] = {}
        for domain in self.domains:
            for source, bounds in domain.ranges.items():
                ranges.setdefault(source, []).append(bounds)
        found = {source: [str(bounds) for bounds in merge_ranges(all_bounds)] for source, all_bounds in ranges.items()}
        multiples = {domain.area_multiple for domain in self.domains}
        if 1 not in multiples:
            found["height x width"] = [f"a multiple of {min(multiples):,}"]
        if all(domain.sizes for domain in self.domains):
            sizes = dict.fromkeys(size for domain in self.domains for size in domain.sizes)
            found["height x width"] = [f"one of the {len(sizes)} sizes that the pipeline computes at"]
        volumes = [domain.most_volume for domain in self.domains]
        if None not in volumes:
            found["height x width"] = [f"at most {max(filter(None, volumes)):,}"]
        return found

    def _program(self, numbers: Mapping[str, int], scale: Any, pixels: int, variation: Variation) -> Program:
        group = None if self.guidance is None else guidance_class(scale)
        for program, domain in zip(self.programs, self.domains, strict=True):
            if domain.variation == variation and domain.contains(numbers, group, pixels):
                return program
        raise OutsideOfLaw(self._refusal(numbers))

    def _refusal(self, numbers: Mapping[str, int]) -> str:
        for source, number in numbers.items():
            bounds = [domain.ranges[source] for domain in self.domains if source in domain.ranges]
            if bounds and not any(number in one for one in bounds):
                proved = " or ".join(map(str, merge_ranges(bounds)))
                return f"the law of {self.model} was proved for {self.sources[source]} of {proved}, not for {number:,}"
        sizes = sorted({size for domain in self.domains for size in domain.sizes})
        size = (numbers.get("height", 0), numbers.get("width", 0))
        if sizes and size not in sizes:
            near = min(sizes, key=lambda one: abs(one[0] - size[0]) + abs(one[1] - size[1]))
            return (
                f"the law of {self.model} was proved for the {len(sizes)} sizes that its pipeline computes at, "
                f"such as {near[0]}x{near[1]}, not for {size[0]}x{size[1]}"
            )
        multiples = {domain.area_multiple for domain in self.domains}
        if 1 not in multiples and size[0] * size[1] % min(multiples):
            return (
                f"the law of {self.model} was proved for height x width that is a multiple of {min(multiples):,}, "
                f"not for {size[0]}x{size[1]}"
            )
        return f"the law of {self.model} was not proved for this combination of sizes and guidance"

    def _pipeline_arguments(self, request: Request) -> dict[str, Any]:
        """Return the call arguments under the pipeline's names; refuse arguments that the law does not cover."""
        self._check_switches(request)
        given = {}
        for name, value in request.arguments.items():
            own = next((other for other in (name, *OTHER_NAMES.get(name, ())) if other in self.parameters), None)
            if own is None and name == "num_frames":
                raise NoVideo(f"{self.model} makes images, not videos: it takes no number of frames; leave it out.")
            if own is None:
                raise OutsideOfLaw(f"the pipeline of {self.model} has no call argument {name}")
            given[own] = value
        variable = {*self.sources.values(), self.guidance}
        for name, value in given.items():
            if name not in variable and (name not in self.fixed or self.fixed[name] != value):
                raise OutsideOfLaw(f"the law of {self.model} was proved for calls without {name}")
        for name in self.fixed:
            if name not in given:
                raise OutsideOfLaw(f"the law of {self.model} was proved with {name}={self.fixed[name]!r}")
        sides = [self.sources[side] for side in ("height", "width") if side in self.sources]
        if self.needs_both_sides and len({name in given for name in sides}) > 1:
            raise OutsideOfLaw(f"the law of {self.model} was proved for height and width together")
        return given

    def _variation(self, request: Request) -> Variation:
        """Return the changes besides the call's arguments; refuse those for which no program was proved."""
        variation = variation_of(request)
        if variation is None or all(domain.variation != variation for domain in self.domains):
            words = OTHER_CHANGES if variation is None else variation.refusal()
            raise OutsideOfLaw(f"the law of {self.model} was proved {words}")
        return variation

    def _check_switches(self, request: Request) -> None:
        if request.dtype is not None and dtype_name(request.dtype) not in self.programs[0].dtypes:
            given = dtype_name(request.dtype)
            raise OutsideOfLaw(f"the law of {self.model} was proved in the dtype of its weights, not in {given}")
        for name, words in SWITCHES.items():
            if getattr(request, name) != getattr(PLAIN, name):
                raise OutsideOfLaw(f"the law of {self.model} was proved {words.format(getattr(request, name))}")

    def _defaults(self, request: Request) -> Mapping[str, Any]:
        """Return the values of arguments that are not given: recommended ones, or those of the pipeline."""
        if not request.pipeline_defaults:
            return self.defaults
        entry = find(self.model)
        recommended = entry.recommended if entry else {}
        own = self.programs[0].call_defaults
        return {name: own.get(name) if name in recommended else value for name, value in self.defaults.items()}

    def _numbers(self, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> tuple[dict[str, int], Any]:
        numbers = {}
        for source, argument in self.sources.items():
            value = given.get(argument)
            value = defaults.get(argument) if value is None else value
            if source == "tokens" and isinstance(value, str):
                value = count_tokens(value)
                if value is None:
                    raise OutsideOfLaw(f"the law of {self.model} was proved for prompts of plain words")
            if value is None:
                raise OutsideOfLaw(f"the law of {self.model} does not know the default of {argument}")
            if not isinstance(value, int) or isinstance(value, bool):
                raise OutsideOfLaw(f"the law of {self.model} needs a whole number for {argument}")
            numbers[source] = value
        scale = None
        if self.guidance is not None:
            scale = given[self.guidance] if self.guidance in given else defaults[self.guidance]
            if not isinstance(scale, int | float) or isinstance(scale, bool):
                raise OutsideOfLaw(f"the law of {self.model} needs a number for {self.guidance}")
        return numbers, scale
