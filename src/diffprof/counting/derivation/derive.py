"""Derives the law of a model: samples it, fits every number, and proves the result on requests it has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import torch

from diffprof.counting.derivation.design import (
    BASE_IMAGES,
    BASE_SIDES,
    BASE_VIDEO_SIDES,
    SIDES,
    STEPS_TO_PROVE,
    plan_samples,
    requests_to_prove,
)
from diffprof.counting.derivation.sampling import Sample, Sampler
from diffprof.errors import DiffprofError
from diffprof.laws.fitting import Fitter
from diffprof.laws.folding import NegativeCount
from diffprof.laws.law import GUIDANCE_CLASSES, Domain, Law, Range, guidance_class, volume
from diffprof.laws.packing import NoLaw, Packer
from diffprof.laws.programs import OutsideOfLaw
from diffprof.laws.variables import SOURCES
from diffprof.pipelines.arguments import LARGEST_IMAGE_PIXELS, call_parameters, find_argument
from diffprof.record.document import encode_profile

SCALES = {"none": 0.0, "below 1": 0.5, "1": 1.0, "above 1": 6.5}
SIDE_RANGE = (256, 2048)
VIDEO_SIDE_RANGE = (256, 1280)
MOST_STEPS = 150
MOST_IMAGES = 8
STEP_BASES = ((11, 9, 12, 14), (19, 17, 23, 29))
"""Steps that are sampled: some schedulers behave differently below 15."""


@dataclass(frozen=True)
class Derived:
    """A law, and what was proved."""

    law: Law
    proofs: int
    """Requests that were not used to find it, and came out equal."""


def derive_law(model: str, prove: int = 4, every_guidance: bool = True, most_images: int = MOST_IMAGES) -> Derived:
    """The law of a model, by its name or folder; `NoLaw` where none was found or it did not hold.

    Without `every_guidance`, of guidance scales only those that do what the default one does. Several images may be
    computed otherwise than one, as tensors of one image need fewer copies: then `most_images` is 1.
    """
    return _Derivation(Sampler(model), most_images).derive(prove, every_guidance)


class _Derivation:
    def __init__(self, sampler: Sampler, most_images: int) -> None:
        self.sampler = sampler
        self.most_images = most_images
        self.default = sampler.run({})
        self.parameters = call_parameters(sampler.opened.pipeline)
        names = {source: find_argument(self.parameters, source) for source in SOURCES}
        self.sources = {source: name for source, name in names.items() if name is not None}
        self.guidance = find_argument(self.parameters, "guidance_scale")
        self.is_video = "num_frames" in self.sources
        self.proofs = 0

    def derive(self, prove: int, every_guidance: bool) -> Derived:
        defaults = {name: self.default.profile.request.value(name) for name in self.sources.values()}
        self.sources = {source: name for source, name in self.sources.items() if isinstance(defaults[name], int)}
        ranges = self._ranges()
        packer = Packer()
        domains: list[Domain] = []
        groups = self._guidance_groups(self._base(ranges, STEP_BASES[0][0]))
        if not every_guidance:
            used = self.default.profile.request.value(self.guidance or "")
            groups = [one for one in groups if used is None or guidance_class(used) in one[1]] or groups[:1]
        for scale, classes in groups:
            for steps in STEP_BASES:
                domain = self._add_program(packer, ranges, scale, classes, steps, domains)
                domains.append(domain)
                if "num_inference_steps" not in ranges or domain.ranges["num_inference_steps"].most == MOST_STEPS:
                    break
        law = self._law(packer, domains, defaults)
        proved = []
        for domain in domains:
            scale = next(scale for scale, classes in groups if classes == domain.guidance)
            proved.append(self._prove(law, domain, scale, prove))
        law = replace(law, domains=tuple(proved))
        if self._is_inside(law):
            self._check(law, {})
        return Derived(replace(law, needs_both_sides=not self._has_single_sides(law)), self.proofs)

    def _is_inside(self, law: Law) -> bool:
        """Whether the law covers the call in which nothing is given."""
        try:
            law.program(self.default.request)
        except OutsideOfLaw:
            return False
        return True

    def _has_single_sides(self, law: Law) -> bool:
        """Whether one side can be given alone: some pipelines then ignore it."""
        sides = [side for side in SIDES if side in self.sources]
        return all(self._holds(law, {side: BASE_SIDES[side] + 128}, None) for side in sides)

    def _law(self, packer: Packer, domains: Sequence[Domain], defaults: Mapping[str, Any]) -> Law:
        request = self.default.profile.request
        if self.guidance is not None:
            defaults = {**defaults, self.guidance: request.value(self.guidance)}
        variable = {*self.sources.values(), self.guidance}
        return Law(
            model=request.model,
            versions={"torch": torch.__version__, **{name: version(name) for name in ("diffusers", "transformers")}},
            parameters=tuple(self.parameters),
            sources=dict(self.sources),
            defaults={name: value for name, value in defaults.items() if name in variable},
            fixed={name: value for name, value in request.arguments.items() if name not in variable},
            guidance=self.guidance,
            programs=tuple(packer.programs()),
            domains=tuple(domains),
        )

    def _ranges(self) -> dict[str, Range]:
        ranges: dict[str, Range] = {}
        for source, argument in self.sources.items():
            if source in SIDES:
                step = self._lattice(source)
                least, most = VIDEO_SIDE_RANGE if self.is_video else SIDE_RANGE
                ranges[source] = Range(-(-least // step) * step, most // step * step, step)
            elif source == "num_frames":
                step = self._frames_per_cell()
                used = int(self.default.profile.request.value(argument))
                ranges[source] = Range(used % step + step, max(used, 121 - 121 % step + used % step), step, used % step)
            elif source == "num_images_per_prompt":
                ranges[source] = Range(1, self.most_images)
            else:
                ranges[source] = Range(1, MOST_STEPS)
        return ranges

    def _lattice(self, source: str) -> int:
        """The smallest power of 2 that a side may be a multiple of."""
        base = BASE_VIDEO_SIDES if self.is_video else BASE_SIDES
        sides = {self.sources[side]: base[side] for side in SIDES if side in self.sources}
        for step in (1, 2, 4, 8, 16, 32, 64):
            try:
                self.sampler.run({**sides, self.sources[source]: base[source] + step})
            except DiffprofError:
                continue
            return step
        raise NoLaw(f"the pipeline accepts no {source} near {base[source]}")

    def _frames_per_cell(self) -> int:
        pipeline = self.sampler.opened.pipeline
        for name in ("vae_scale_factor_temporal", "vae_temporal_compression_ratio"):
            if isinstance(getattr(pipeline, name, None), int):
                return int(getattr(pipeline, name))
        return 1

    def _base(self, ranges: Mapping[str, Range], steps: int) -> dict[str, int]:
        base: dict[str, int] = {}
        for source, bounds in ranges.items():
            if source in SIDES:
                base[source] = (BASE_VIDEO_SIDES if self.is_video else BASE_SIDES)[source]
            elif source == "num_frames":
                base[source] = bounds.offset + 4 * bounds.multiple
            else:
                base[source] = min(BASE_IMAGES, self.most_images) if source == "num_images_per_prompt" else steps
        return base

    def _guidance_groups(self, base: Mapping[str, int]) -> list[tuple[float | None, tuple[str, ...]]]:
        """Guidance scales that make the pipeline do the same, each with its classes; the default ones first."""
        if self.guidance is None:
            return [(None, ())]
        found: list[tuple[float, list[str], dict[str, Any]]] = []
        for name in reversed(GUIDANCE_CLASSES):
            try:
                values = self._run(base, SCALES[name]).values
            except DiffprofError:
                continue
            same = next((group for group in found if group[2] == values), None)
            if same is None:
                found.append((SCALES[name], [name], values))
            else:
                same[1].append(name)
        if not found:
            raise NoLaw("the pipeline accepts no guidance scale")
        return [(scale, tuple(classes)) for scale, classes, _ in found]

    def _run(self, numbers: Mapping[str, int], scale: float | None) -> Sample:
        return self.sampler.run(self._arguments(numbers, scale))

    def _arguments(self, numbers: Mapping[str, int], scale: float | None) -> dict[str, Any]:
        arguments: dict[str, Any] = {self.sources[source]: value for source, value in numbers.items()}
        return arguments if scale is None or self.guidance is None else {**arguments, self.guidance: scale}

    def _add_program(
        self,
        packer: Packer,
        ranges: Mapping[str, Range],
        scale: float | None,
        classes: tuple[str, ...],
        steps: Sequence[int],
        domains: Sequence[Domain],
    ) -> Domain:
        """Fit one program; its domain is where it was found to hold."""
        base = self._base(ranges, steps[0])
        pixels = None if self.is_video or "height" not in ranges else LARGEST_IMAGE_PIXELS
        plan = plan_samples(ranges, base, steps, pixels)
        samples = [self._run(numbers, scale) for numbers in plan.samples]
        packer.add([sample.values for sample in samples], Fitter(plan.samples, plan.axes, plan.variables))
        domain = Domain(dict(ranges), classes, pixels)
        if "num_inference_steps" not in ranges:
            return domain
        taken = [one.ranges["num_inference_steps"] for one in domains if one.guidance == classes]
        law = self._law(packer, [*domains, domain], dict.fromkeys(self.sources.values(), 0))
        law = replace(law, programs=law.programs[-1:], domains=(domain,))
        tried = [number for number in STEPS_TO_PROVE if not any(number in bounds for bounds in taken)]
        bounds = Range(*self._proved_steps(law, base, scale, tried))
        return replace(domain, ranges={**ranges, "num_inference_steps": bounds})

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
            self._check(law, self._arguments(numbers, scale))
        except NoLaw:
            return False
        return True

    def _prove(self, law: Law, domain: Domain, scale: float | None, number: int) -> Domain:
        """The domain, up to the largest size up to which all requests came out equal."""
        steps = domain.ranges.get("num_inference_steps")
        base = self._base(domain.ranges, 1 if steps is None else max(steps.least, 3))
        if "num_images_per_prompt" in base:
            base["num_images_per_prompt"] = 1
        held = 0
        for numbers in requests_to_prove(domain.ranges, base, domain.most_pixels, number):
            try:
                self._check(law, self._arguments(numbers, scale))
            except NoLaw:
                if held < volume(self._default_numbers(domain.ranges)):
                    raise
                return replace(domain, most_volume=held)
            held = volume(numbers)
        return domain

    def _default_numbers(self, ranges: Mapping[str, Range]) -> dict[str, int]:
        return {source: int(self.default.profile.request.value(self.sources[source])) for source in ranges}

    def _check(self, law: Law, arguments: Mapping[str, Any]) -> None:
        """Count a request, and compare."""
        sample = self.sampler.run(arguments)
        try:
            profile = replace(law.profile(sample.request), counted_by=sample.profile.counted_by)
            is_equal = profile == sample.profile and encode_profile(profile) == encode_profile(sample.profile)
        except (OutsideOfLaw, NegativeCount) as error:
            raise NoLaw(f"{dict(arguments)} is outside: {error}") from error
        if not is_equal:
            raise NoLaw(f"the law does not hold for {dict(arguments)}: {_difference(profile, sample.profile)}")
        self.proofs += 1


def _difference(one: Any, other: Any) -> str:
    """Where two profiles differ."""
    left, right = encode_profile(one), encode_profile(other)
    return ", ".join(_paths(left, right, "")[:3])


def _paths(one: Any, other: Any, path: str) -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict) and list(one) == list(other):
        return [found for key in one for found in _paths(one[key], other[key], f"{path}.{key}")][:3]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        different = [place for place in range(len(one)) if one[place] != other[place]]
        return [found for place in different[:3] for found in _paths(one[place], other[place], f"{path}.{place}")][:3]
    return [] if one == other else [f"{path.lstrip('.')} is {str(one)[:80]} instead of {str(other)[:80]}"]
