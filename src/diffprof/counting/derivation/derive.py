"""Derive the law of a model: sample it, fit every number, and prove the result on requests that were not sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from diffprof.counting.derivation.design import BASE_SIDES, BASE_VIDEO_SIDES, base_sides, requests_to_prove
from diffprof.counting.derivation.guidance import guidance_groups
from diffprof.counting.derivation.pieces import Piece, PieceMaker, law_of
from diffprof.counting.derivation.ranges import (
    BASE_IMAGES,
    CELLS,
    MAX_SIZED_GROUPS,
    MAX_STEPS,
    ONE_IMAGE,
    PADDED_AREA,
    PADDED_CELL,
    SEVERAL_IMAGES,
    SIDE_RANGE,
    VIDEO_SIDE_RANGE,
    Reach,
)
from diffprof.counting.derivation.regions import Size, find_regions, sizes_by_area
from diffprof.counting.derivation.sampling import CountedSample, Sampler
from diffprof.counting.derivation.steps import STEPS, StepGroup, StepGroups
from diffprof.counting.derivation.subject import Subject
from diffprof.counting.derivation.tokens import proved_tokens
from diffprof.errors import DiffprofError
from diffprof.laws.fitting import SIDES
from diffprof.laws.law import Domain, Law, Range
from diffprof.laws.packing import NoLaw
from diffprof.laws.prompts import USUAL_TOKENS
from diffprof.pipelines.arguments import LARGEST_IMAGE_PIXELS

LONGEST_REASON = 200
FRAMES = "num_frames"


@dataclass(frozen=True)
class DerivedLaw:
    """A law, and how it was proved."""

    law: Law
    proofs: int
    """The number of requests that the law was not fitted to and that matched it."""
    left_out: tuple[str, ...]
    """Requests that the law does not cover, and why."""


def derive_law(model: str, prove: int = 2, reach: Reach = Reach.everything, frames: Sequence[int] = ()) -> DerivedLaw:
    """Return the law of a model, given by name or folder; raise `NoLaw` if none was found or it did not hold.

    If there is no law for all sizes, the law covers the default size only. `frames` are further numbers of frames of a
    video to cover, besides the default.
    """
    return _Derivation(Subject(Sampler(model)), prove, reach, frames).derive()


@dataclass(frozen=True)
class _CallVariant:
    """The settings of a call that are the same for all sizes and steps."""

    maker: PieceMaker
    classes: tuple[str, ...]
    """The classes of guidance scales."""
    images: Range
    tokens: Range
    steps: Sequence[StepGroup]


class _Derivation:
    def __init__(self, subject: Subject, prove: int, reach: Reach, frames: Sequence[int]) -> None:
        self.subject = subject
        self.prove, self.reach = prove, reach
        self.sources = subject.sources
        self.frames = [subject.default_number(FRAMES), *frames] if FRAMES in self.sources else [0]
        self.base_sides = BASE_VIDEO_SIDES if subject.is_video else BASE_SIDES
        self.pieces: list[Piece] = []
        self.left_out: list[str] = []

    def derive(self) -> DerivedLaw:
        wide = self.reach is Reach.everything
        every = self.reach is not Reach.default_size
        groups = guidance_groups(self.subject.sampler, self.subject.default, self.subject.guidance, every)
        groups = groups if wide else groups[:1]
        several = wide and not self.subject.is_video and "num_images_per_prompt" in self.sources
        proofs = 0
        steps: list[StepGroup] = []
        for scale, classes in groups:
            maker = PieceMaker(self.subject, scale, self.prove)
            steps = steps or self._step_groups(maker)
            tokens = proved_tokens(maker)
            for images in [ONE_IMAGE, SEVERAL_IMAGES] if several else [ONE_IMAGE]:
                self._add_pieces(_CallVariant(maker, classes, images, tokens, steps))
            proofs += maker.proofs
        if not self.pieces:
            raise NoLaw("; ".join(dict.fromkeys(self.left_out)) or "nothing was proved")
        law = law_of(self.subject, self.pieces)
        maker = PieceMaker(self.subject, groups[0][0], self.prove)
        maker.check(law, self.subject.default)
        maker.check(law, self._random_sample(self.pieces[0]))
        law = replace(law, needs_both_sides=not (every and self._holds_for_one_side(maker, law)))
        return DerivedLaw(law, proofs + maker.proofs, tuple(self.left_out))

    def _holds_for_one_side(self, maker: PieceMaker, law: Law) -> bool:
        """Whether the law holds if only one side is given; some pipelines then ignore it."""
        if "height" not in self.sources:
            return False
        try:
            maker.check(law, self.subject.run({"height": self.base_sides["height"] + 128}, None))
        except DiffprofError:
            return False
        return True

    def _random_sample(self, piece: Piece) -> CountedSample:
        """Count a random request, without reusing earlier counts."""
        base = {source: bounds.least for source, bounds in piece.domain.ranges.items()}
        *_, numbers = requests_to_prove(piece.domain, base, 1, seed=2)
        return self.subject.sampler.run(self.subject.arguments(numbers, piece.scale), anew=True)

    def _step_groups(self, maker: PieceMaker) -> list[StepGroup]:
        if STEPS not in self.sources:
            return [StepGroup((1,), ())]
        usual = self.subject.default_numbers(self.sources)
        return StepGroups(lambda number: maker.sample({**usual, STEPS: number}).values, usual[STEPS]).find()

    def _add_pieces(self, variant: _CallVariant) -> None:
        """Add pieces for all sizes, and for the default size if those do not cover it."""
        for frames in self.frames:
            usual = self._default_domain(variant, frames)
            if self.reach is not Reach.default_size and set(SIDES) <= set(self.sources):
                self._add_sizes(variant, usual)
            for place, group in enumerate(variant.steps):
                if not self._is_covered(variant, usual, group):
                    make = self._default_size_maker(variant, usual, group, is_first=place == 0)
                    self._try(f"the default size with {_name(usual, group)}", make)

    def _default_size_maker(
        self, variant: _CallVariant, usual: Domain, group: StepGroup, is_first: bool
    ) -> Callable[[], list[Piece]]:
        fixed = {source: bounds.least for source, bounds in usual.ranges.items() if bounds.least == bounds.most}
        base = self.subject.default_numbers(usual.ranges) | fixed | self._images(variant)
        is_recorded = len(variant.steps) > MAX_SIZED_GROUPS and len(group.samples) == 1 and not is_first
        if is_recorded and usual.contains(base, None, 0) and variant.images.most == 1:
            return lambda: variant.maker.record(usual, base, group)
        return lambda: variant.maker.make(usual, base, group, CELLS[-1])

    def _try(self, what: str, make: Callable[[], list[Piece]]) -> list[Piece]:
        """Add the pieces that `make` returns, or the reason why there are none."""
        try:
            made = make()
        except DiffprofError as error:
            self.left_out.append(f"{what}: {error}"[:LONGEST_REASON])
            return []
        self.pieces += made
        return made

    def _default_domain(self, variant: _CallVariant, frames: int) -> Domain:
        ranges = {source: Range(n, n) for source, n in self.subject.default_numbers(self.sources).items()}
        given = {FRAMES: Range(frames, frames), "num_images_per_prompt": variant.images, "tokens": variant.tokens}
        given[STEPS] = Range(1, MAX_STEPS)
        pixels = None if self.subject.is_video or "height" not in self.sources else LARGEST_IMAGE_PIXELS
        return Domain({name: given.get(name, bounds) for name, bounds in ranges.items()}, variant.classes, pixels)

    def _is_covered(self, variant: _CallVariant, usual: Domain, group: StepGroup) -> bool:
        """Whether a piece already covers the default size with these steps."""
        numbers = {source: bounds.least for source, bounds in usual.ranges.items()}
        guidance = variant.classes[0] if variant.classes else None
        return all(
            any(piece.domain.contains({**numbers, STEPS: steps}, guidance, 0) for piece in self.pieces)
            for bounds in group.ranges
            for steps in (bounds.least, bounds.most)
        ) and bool(group.ranges or any(piece.domain.contains(numbers, guidance, 0) for piece in self.pieces))

    def _add_sizes(self, variant: _CallVariant, usual: Domain) -> None:
        """Add pieces for the smallest cell that has any."""
        for cell, multiple in self._cells(variant, usual):
            least, most = VIDEO_SIDE_RANGE if self.subject.is_video else SIDE_RANGE
            sides = {side: Range(least, most, PADDED_CELL if multiple > 1 else cell) for side in SIDES}
            domain = replace(usual, ranges={**usual.ranges, **sides}, area_multiple=multiple, sizes=self.subject.sizes)
            made = [self._try(f"sides in steps of {cell}", make) for make in self._sized_pieces(variant, domain, cell)]
            if any(made):
                return

    def _cells(self, variant: _CallVariant, usual: Domain) -> list[tuple[int, int]]:
        """Return cells for sides, each with the multiple that areas must be of, at which the program stays the same."""
        base = self._base(variant, usual)
        found = []
        cells = [(cell, 1) for cell in CELLS] + ([] if self.subject.is_video else [(128, PADDED_AREA)])
        for cell, multiple in cells:
            more = [{side: base[side] + cell for side in chosen} for chosen in (SIDES[:1], SIDES[1:], SIDES)]
            forms = {variant.maker.form({**base, **sides}) for sides in more}
            if len(forms) == 1 and None not in forms:
                found.append((cell, multiple))
        return found

    def _base(self, variant: _CallVariant, domain: Domain) -> dict[str, int]:
        numbers = {source: bounds.least for source, bounds in domain.ranges.items()}
        numbers |= self._images(variant) | {side: self.base_sides[side] for side in SIDES}
        numbers |= {"tokens": USUAL_TOKENS} if "tokens" in numbers else {}
        return numbers | ({STEPS: variant.steps[0].samples[0]} if STEPS in numbers else {})

    def _images(self, variant: _CallVariant) -> dict[str, int]:
        name = "num_images_per_prompt"
        return {name: 1 if variant.images.most == 1 else BASE_IMAGES} if name in self.sources else {}

    def _sized_pieces(self, variant: _CallVariant, domain: Domain, cell: int) -> Iterator[Callable[[], list[Piece]]]:
        base = self._base(variant, domain)
        try:
            parts = self._parts(variant, domain, base, cell)
        except NoLaw as error:
            self.left_out.append(f"sides in steps of {cell}: {error}")
            return
        for part in parts:
            sides = base_sides(replace(part, sizes=()), base, cell)
            if sides is None:
                self.left_out.append(f"sizes from {part.least_volume} to {part.most_volume} pixels: too few")
                continue
            for group in variant.steps[:MAX_SIZED_GROUPS]:
                own = {**base, **sides} | ({STEPS: group.samples[0]} if STEPS in base else {})
                yield partial(variant.maker.make, part, own, group, cell)

    def _parts(self, variant: _CallVariant, domain: Domain, base: Mapping[str, int], cell: int) -> list[Domain]:
        """Split the domain into parts that each have one program."""
        if domain.sizes:
            return [domain]
        bounds = domain.ranges["height"]
        most = (domain.most_pixels or bounds.most**2) // base.get("num_images_per_prompt", 1)
        sizes = sizes_by_area(bounds.least, bounds.most, cell, most)
        frames = base.get(FRAMES, 1)

        def form_of(size: Size) -> int | None:
            return variant.maker.form({**base, "height": size[0], "width": size[1]})

        return [
            replace(
                domain,
                least_volume=None if region.smallest == sizes[0] else prod(region.smallest) * frames,
                most_volume=None if region.largest == sizes[-1] else prod(region.largest) * frames,
            )
            for region in find_regions(sizes, form_of)
        ]


def _name(domain: Domain, group: StepGroup) -> str:
    return f"{', '.join(domain.guidance)} guidance and {' or '.join(map(str, group.ranges))} steps"
