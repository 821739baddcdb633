"""Derives the law of a model: samples it, fits every number, and proves the result on requests it has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import torch

from diffprof.counting.derivation.binning import BINNING, binned_sizes
from diffprof.counting.derivation.design import (
    BASE_SIDES,
    BASE_VIDEO_SIDES,
    SIDES,
    STEPS_TO_PROVE,
    few_steps,
    frames_per_cell,
    plan_samples,
    requests_to_prove,
)
from diffprof.counting.derivation.guidance import guidance_groups
from diffprof.counting.derivation.prove import compare_with_sample
from diffprof.counting.derivation.sampling import CountedSample, Sampler
from diffprof.counting.derivation.ways import (
    BASE_IMAGES,
    CELLS,
    COMMON_STEPS,
    MOST_STEPS,
    ONE_IMAGE,
    PADDED_AREA,
    PADDED_CELL,
    SEVERAL_IMAGES,
    SIDE_RANGE,
    STEP_BASES,
    USUAL,
    USUAL_LEAST,
    VIDEO_SIDE_RANGE,
    Reach,
    Way,
)
from diffprof.errors import DiffprofError
from diffprof.laws.fitting import Fitter
from diffprof.laws.law import Domain, Law, Range, volume
from diffprof.laws.packing import FittedProgram, NoLaw, fit_program, pack_programs
from diffprof.laws.programs import OutsideOfLaw
from diffprof.laws.templates import TemplateBuilder
from diffprof.laws.variables import SOURCES
from diffprof.pipelines.arguments import LARGEST_IMAGE_PIXELS, call_parameters, find_argument

LONGEST_REASON = 200
FEW_SAMPLES = (4, 8, 12)


@dataclass(frozen=True)
class Derived:
    """A law, and what was proved."""

    law: Law
    proofs: int
    """Requests that were not used to find it, and came out equal."""
    left_out: tuple[str, ...]
    """What it does not cover, and why."""


def derive_law(model: str, prove: int = 2, reach: Reach = Reach.everything) -> Derived:
    """The law of a model, by its name or folder; `NoLaw` where none was found or it did not hold.

    Where no law of all sizes is found, it is that of the default size.
    """
    return _Derivation(Sampler(model), prove, reach).derive()


@dataclass(frozen=True)
class _Piece:
    """A program, and the requests that it was proved for."""

    fitted: FittedProgram
    domain: Domain
    scale: float | None


class _Derivation:
    def __init__(self, sampler: Sampler, prove: int, reach: Reach) -> None:
        self.sampler = sampler
        self.prove, self.reach = prove, reach
        self.default = sampler.run({})
        self.parameters = call_parameters(sampler.opened.pipeline)
        found = {source: find_argument(self.parameters, source) for source in SOURCES}
        names = {source: name for source, name in found.items() if name is not None}
        request = self.default.profile.request
        # What is asked for, where another number is made of it.
        used = {name: request.arguments.get(name, request.value(name)) for name in names.values()}
        self.sources = {source: name for source, name in names.items() if isinstance(used[name], int)}
        self.defaults = {name: used[name] for name in self.sources.values()}
        self.guidance = find_argument(self.parameters, "guidance_scale")
        if self.guidance is not None and not isinstance(request.value(self.guidance), int | float):
            self.guidance = None
        self.is_video = "num_frames" in self.sources
        self.sizes = binned_sizes(sampler.opened.pipeline, self.default.profile) if BINNING in self.parameters else ()
        self.base_sides = BASE_VIDEO_SIDES if self.is_video else BASE_SIDES
        self.proofs = 0

    def derive(self) -> Derived:
        wide = self.reach is Reach.everything
        groups = guidance_groups(self.sampler, self.default, self.guidance, wide)
        images = [ONE_IMAGE, SEVERAL_IMAGES] if wide and "num_images_per_prompt" in self.sources else [ONE_IMAGE]
        pieces: list[_Piece] = []
        left_out: list[str] = []
        for scale, classes in groups:
            for number in images:
                found, reason = self._pieces(number, scale, classes)
                pieces += found
                if reason is not None and not pieces:
                    raise reason
                if reason is not None:
                    left_out.append(f"{number} images with guidance {' or '.join(classes)}: {reason}")
        if not self._has_default(self._law_of(pieces)):
            pieces += self._pieces_of_steps(self._domain(ONE_IMAGE, groups[0][1], USUAL), groups[0][0], USUAL, {})
        law = self._law_of(pieces)
        self._check(law, self.default)
        self._check(law, self._random_sample(pieces[0]))
        return Derived(
            replace(law, needs_both_sides=not (wide and self._holds_for_one_side(law))), self.proofs, tuple(left_out)
        )

    def _law_of(self, pieces: Sequence[_Piece]) -> Law:
        return self._law([piece.fitted for piece in pieces], [piece.domain for piece in pieces])

    def _has_default(self, law: Law) -> bool:
        """Whether the law covers the call in which nothing is given."""
        try:
            law.program(self.default.request)
        except OutsideOfLaw:
            return False
        return True

    def _holds_for_one_side(self, law: Law) -> bool:
        """Whether one side can be given alone: some pipelines then ignore it."""
        return "height" in self.sources and self._holds(law, {"height": self.base_sides["height"] + 128}, None)

    def _random_sample(self, piece: _Piece) -> CountedSample:
        """Counted without what was counted before."""
        domain = piece.domain
        *_, numbers = requests_to_prove(domain, self._base(domain.ranges, few_steps(domain)), 1, seed=2)
        return self.sampler.run(self._arguments(numbers, piece.scale), anew=True)

    def _law(self, programs: Sequence[FittedProgram], domains: Sequence[Domain]) -> Law:
        request = self.default.profile.request
        variable = {*self.sources.values(), self.guidance}
        scale = {} if self.guidance is None else {self.guidance: request.value(self.guidance)}
        return Law(
            model=request.model,
            versions={"torch": torch.__version__, **{name: version(name) for name in ("diffusers", "transformers")}},
            parameters=tuple(self.parameters),
            sources=dict(self.sources),
            defaults={**self.defaults, **scale},
            fixed={name: value for name, value in request.arguments.items() if name not in variable},
            guidance=self.guidance,
            programs=tuple(pack_programs(programs)),
            domains=tuple(domains),
        )

    def _pieces(
        self, images: Range, scale: float | None, classes: tuple[str, ...]
    ) -> tuple[list[_Piece], DiffprofError | None]:
        """Programs for one way of calling, for the finest sides and all steps for which there is a law; or why none."""
        samples: dict[Any, CountedSample] = {}
        reasons: dict[str, None] = {}
        for way in self._ways(images, scale, samples):
            pieces, reason = self._pieces_of_way(self._domain(images, classes, way), scale, way, samples)
            if pieces:
                return pieces, None
            reasons.setdefault(str(reason)[:LONGEST_REASON])
        return [], NoLaw("; ".join(reasons))

    def _pieces_of_way(
        self, domain: Domain, scale: float | None, way: Way, samples: dict[Any, CountedSample]
    ) -> tuple[list[_Piece], DiffprofError | None]:
        try:
            return self._pieces_of_steps(domain, scale, way, samples), None
        except DiffprofError as error:
            return [], error

    def _ways(self, images: Range, scale: float | None, samples: dict[Any, CountedSample]) -> list[Way]:
        if self.reach is Reach.usual_size or "height" not in self.sources:
            return [USUAL]
        cell = self._cell(images, scale, samples)
        if cell is None:
            return [USUAL]
        if self.sizes:
            return [Way(cell), USUAL]
        fixed = [False, True] if self.is_video else [False]
        ways = [Way(cell, has_fixed_frames=has_fixed_frames) for has_fixed_frames in fixed]
        if cell == PADDED_CELL and not self.is_video:
            ways.append(Way(128, area_multiple=PADDED_AREA))
        coarse = self._largest_cell()
        if cell < coarse:
            ways.append(Way(coarse, has_fixed_frames=self.is_video))
        return [*ways, USUAL]

    def _largest_cell(self) -> int:
        """The largest cell that the default sides are multiples of."""
        sides = [self.defaults[self.sources[side]] for side in SIDES if side in self.sources]
        return max((cell for cell in CELLS if all(side % cell == 0 for side in sides)), default=CELLS[0])

    def _domain(self, images: Range, classes: tuple[str, ...], way: Way) -> Domain:
        pixels = None if self.is_video or "height" not in self.sources else LARGEST_IMAGE_PIXELS
        ranges = self._ranges(images, PADDED_CELL if way.area_multiple > 1 else way.cell)
        fixed = {"num_frames"} if way.has_fixed_frames else {"num_frames", *SIDES} if way.has_usual_size else set()
        for source in fixed & set(ranges):
            number = self.defaults[self.sources[source]]
            ranges[source] = Range(number, number)
        sizes = () if way.has_usual_size else self.sizes
        return Domain(ranges, classes, pixels, area_multiple=way.area_multiple, sizes=sizes)

    def _cell(self, images: Range, scale: float | None, samples: dict[Any, CountedSample]) -> int | None:
        """The smallest cell with which images have the size that is asked for; None if they never do."""
        for cell in CELLS:
            ranges = self._ranges(images, cell)
            numbers = self._base(ranges, STEP_BASES[0][0])
            try:
                height = numbers["height"] + cell
                made = dict(self._sample({**numbers, "height": height}, scale, samples).values["sizes"])
            except DiffprofError:
                continue
            if made.get("height", height) == height:
                return cell
        return None

    def _ranges(self, images: Range, cell: int) -> dict[str, Range]:
        ranges: dict[str, Range] = {}
        for source, argument in self.sources.items():
            if source in SIDES:
                least, most = VIDEO_SIDE_RANGE if self.is_video else SIDE_RANGE
                ranges[source] = Range(least, most, cell)
            elif source == "num_frames":
                step, used = frames_per_cell(self.sampler.opened.pipeline), self.defaults[argument]
                ranges[source] = Range(used % step + step, max(used, 121 - 121 % step + used % step), step, used % step)
            elif source == "num_images_per_prompt":
                ranges[source] = images
            else:
                ranges[source] = Range(1, MOST_STEPS)
        return ranges

    def _base(self, ranges: Mapping[str, Range], steps: int) -> dict[str, int]:
        base: dict[str, int] = {}
        for source, bounds in ranges.items():
            if bounds.least == bounds.most:
                base[source] = bounds.least
            elif source in SIDES:
                base[source] = self.base_sides[source]
            elif source == "num_frames":
                base[source] = max(bounds.least, bounds.offset + 4 * bounds.multiple)
            elif source == "num_images_per_prompt":
                base[source] = BASE_IMAGES if BASE_IMAGES in bounds else bounds.least
            else:
                base[source] = steps
        return base

    def _run(self, numbers: Mapping[str, int], scale: float | None) -> CountedSample:
        """A sample; sizes that the pipeline would compute at another one are asked for as they are."""
        other = self.sizes and (numbers.get("height"), numbers.get("width")) not in self.sizes
        return self.sampler.run(self._arguments(numbers, scale) | ({BINNING: False} if other else {}))

    def _sample(
        self, numbers: Mapping[str, int], scale: float | None, samples: dict[Any, CountedSample]
    ) -> CountedSample:
        """A sample, from those that were already taken in this way of calling if it is among them."""
        key = tuple(sorted(numbers.items()))
        if key not in samples:
            samples[key] = self._run(numbers, scale)
        return samples[key]

    def _arguments(self, numbers: Mapping[str, int], scale: float | None) -> dict[str, Any]:
        arguments: dict[str, Any] = {self.sources[source]: value for source, value in numbers.items()}
        # A scale that is given as it is anyway would take away what is recommended for a second one.
        if self.guidance is None or scale in (None, self.default.profile.request.value(self.guidance)):
            return arguments
        return {**arguments, self.guidance: scale}

    def _pieces_of_steps(
        self, domain: Domain, scale: float | None, way: Way, samples: dict[Any, CountedSample]
    ) -> list[_Piece]:
        pieces: list[_Piece] = []
        for steps in way.steps:
            try:
                pieces.append(self._piece(domain, scale, way.cell, steps, pieces, samples))
            except DiffprofError:
                if pieces or not way.has_usual_size or "num_inference_steps" not in domain.ranges:
                    raise
                return self._pieces_of_single_steps(domain, scale, samples)
            covered = pieces[-1].domain.ranges.get("num_inference_steps")
            if covered is None or covered.most == MOST_STEPS:
                break
        default_steps = self.defaults.get(self.sources.get("num_inference_steps", ""))
        if default_steps and not any(default_steps in one.domain.ranges["num_inference_steps"] for one in pieces):
            pieces.append(self._piece(domain, scale, way.cell, (default_steps,), pieces, samples))
        return pieces

    def _pieces_of_single_steps(
        self, domain: Domain, scale: float | None, samples: dict[Any, CountedSample]
    ) -> list[_Piece]:
        """Programs of one number of steps each, where no two follow one law: schedules are rounded, and have parts."""
        default = self.defaults[self.sources["num_inference_steps"]]
        pieces = [self._piece(domain, scale, CELLS[-1], (default,), (), samples)]
        for number in (number for number in COMMON_STEPS if number != default):
            with suppress(DiffprofError):  # not every pipeline takes every number
                pieces.append(self._piece(domain, scale, CELLS[-1], (number,), (), samples))
        return pieces

    def _piece(
        self,
        domain: Domain,
        scale: float | None,
        cell: int,
        steps: Sequence[int],
        others: Sequence[_Piece],
        samples: dict[Any, CountedSample],
    ) -> _Piece:
        """Fit one program; its domain is where it was found to hold."""
        if "num_inference_steps" in domain.ranges and len(steps) == 1:
            domain = replace(domain, ranges={**domain.ranges, "num_inference_steps": Range(steps[0], steps[0])})
        base = self._base(domain.ranges, steps[0])
        plan = plan_samples(domain, base, steps, cell)
        values: list[Any] = []
        for numbers in plan.samples:
            values.append(self._sample(numbers, scale, samples).values)
            if len(values) in FEW_SAMPLES:
                TemplateBuilder().merge(values)  # what does not go together need not be sampled further
        fitted = fit_program(values, Fitter(plan.samples, plan.axes, plan.variables))
        law = self._law([fitted], [domain])
        if len(steps) > 1 and "num_inference_steps" in domain.ranges:
            taken = [one.domain.ranges["num_inference_steps"] for one in others]
            default = self.defaults[self.sources["num_inference_steps"]]
            tried = [number for number in {*STEPS_TO_PROVE, default} if not any(number in bounds for bounds in taken)]
            bounds = Range(*self._proved_steps(law, self._usual_size(base), scale, tried))
            domain = replace(domain, ranges={**domain.ranges, "num_inference_steps": bounds})
        return _Piece(fitted, self._proved_part(law, domain, scale), scale)

    def _usual_size(self, numbers: Mapping[str, int]) -> Mapping[str, int]:
        """The numbers, with the default height and width where the law is that of certain sizes."""
        return {**numbers, **({side: self.defaults[self.sources[side]] for side in SIDES} if self.sizes else {})}

    def _proved_steps(
        self, law: Law, base: Mapping[str, int], scale: float | None, tried: Sequence[int]
    ) -> tuple[int, int]:
        """The numbers of steps around the base for which the law holds."""
        center = base["num_inference_steps"]
        least = most = center
        for number in sorted((n for n in tried if n < center), reverse=True):
            if not self._holds(law, {**base, "num_inference_steps": number}, scale):
                break
            least = number
        for number in sorted(n for n in tried if n > center):
            if not self._holds(law, {**base, "num_inference_steps": number}, scale):
                return least, most
            most = number
        return least, MOST_STEPS

    def _holds(self, law: Law, numbers: Mapping[str, int], scale: float | None) -> bool:
        try:
            self._check(law, self._run(numbers, scale))
        except DiffprofError:
            return False
        return True

    def _proved_part(self, law: Law, domain: Domain, scale: float | None) -> Domain:
        """The domain, without small sides if it does not hold for those."""
        try:
            return self._proved_domain(law, domain, scale)
        except DiffprofError:
            usual = {side: bounds for side, bounds in domain.ranges.items() if side in SIDES}
            if self.is_video or not any(USUAL_LEAST in bounds for bounds in usual.values()):
                raise
            larger = {side: replace(bounds, least=USUAL_LEAST) for side, bounds in usual.items()}
            return self._proved_domain(law, replace(domain, ranges={**domain.ranges, **larger}), scale)

    def _proved_domain(self, law: Law, domain: Domain, scale: float | None) -> Domain:
        """The domain, up to the largest size up to which all requests came out equal."""
        base = self._usual_size(self._base(domain.ranges, few_steps(domain)))
        held = 0
        for numbers in requests_to_prove(domain, base, self.prove):
            try:
                self._check(law, self._run(numbers, scale))
            except DiffprofError:
                if held < volume(self._default_numbers(domain.ranges)):
                    raise
                return replace(domain, most_volume=held)
            held = volume(numbers)
        return domain

    def _default_numbers(self, ranges: Mapping[str, Range]) -> dict[str, int]:
        return {source: self.defaults[self.sources[source]] for source in ranges}

    def _check(self, law: Law, sample: CountedSample) -> None:
        compare_with_sample(law, sample)
        self.proofs += 1
