"""Requests that laws are found from, and those that they are proved on."""

from __future__ import annotations

import random
from dataclasses import replace

from diffprof.counting.derivation.design import (
    base_sides,
    is_inside,
    pixels_of,
    plan_samples,
    random_numbers,
    requests_to_prove,
)
from diffprof.laws.law import Domain, Range

BASE = {"height": 640, "width": 896, "num_inference_steps": 11}
DOMAIN = Domain(
    {"height": Range(256, 2048, 8), "width": Range(256, 2048, 8), "num_inference_steps": Range(1, 150)},
    most_pixels=2048 * 1024,
)  # fmt: skip


def test_along_an_axis_only_its_own_number_changes() -> None:
    plan = plan_samples(DOMAIN, BASE, (11, 9, 12, 14), 8)
    assert plan.samples[0] == BASE
    for source, places in plan.axes.items():
        assert len({plan.samples[place][source] for place in places}) == len(places) > 3
        for place in places:
            assert {name: plan.samples[place][name] for name in BASE if name != source} == {
                name: BASE[name] for name in BASE if name != source
            }


def test_some_samples_change_everything_within_the_limits() -> None:
    plan = plan_samples(DOMAIN, BASE, (11, 9, 12, 14), 8)
    on_axes = {place for places in plan.axes.values() for place in places}
    off_axes = [sample for place, sample in enumerate(plan.samples) if place not in on_axes]
    assert len(off_axes) == 3
    assert all(pixels_of(sample) <= 2048 * 1024 for sample in off_axes)


def test_a_number_that_cannot_change_is_no_variable() -> None:
    fixed = Domain({**DOMAIN.ranges, "height": Range(640, 640)})
    sources = {variable.source for variable in plan_samples(fixed, BASE, (11, 9), 8).variables}
    assert sources == {"width", "num_inference_steps"}


def test_what_proves_a_law_lies_inside_and_has_the_ends() -> None:
    chosen = requests_to_prove(DOMAIN, BASE, number=5)
    assert all(is_inside(DOMAIN, one) for one in chosen)
    assert {**BASE, "height": 256, "width": 256} in chosen
    assert {**BASE, "height": 1024, "width": 1024} in chosen
    assert {**BASE, "height": 2048, "width": 2048} not in chosen  # more pixels than the domain has
    assert requests_to_prove(DOMAIN, BASE, number=5) == chosen


def test_random_numbers_are_multiples_inside_of_the_domain() -> None:
    rng = random.Random(3)
    for _ in range(50):
        numbers = random_numbers(DOMAIN, rng)
        assert is_inside(DOMAIN, numbers) and numbers["height"] % 8 == 0
    sizes = Domain(DOMAIN.ranges, sizes=((512, 512), (384, 640)))
    assert {(n["height"], n["width"]) for n in (random_numbers(sizes, rng) for _ in range(30))} == set(sizes.sizes)


def test_pixels_are_those_of_all_images() -> None:
    assert pixels_of({"height": 4, "width": 5, "num_images_per_prompt": 3}) == 60
    assert pixels_of({"num_inference_steps": 9}) == 1


def test_samples_of_small_images_alone_lie_around_a_small_one() -> None:
    assert base_sides(DOMAIN, BASE, 8) == {"height": 640, "width": 896}
    small = replace(DOMAIN, most_volume=384 * 384)
    sides = base_sides(small, BASE, 8)
    assert sides is not None
    plan = plan_samples(small, {**BASE, **sides}, (11, 9, 12, 14), 8)
    assert len(plan.axes["height"]) == len(plan.axes["width"]) == 5
    assert all(is_inside(small, sample) for sample in plan.samples)


def test_too_narrow_a_domain_has_no_base() -> None:
    assert base_sides(replace(DOMAIN, most_volume=256 * 272), BASE, 8) is None
