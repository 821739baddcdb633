"""What a law covers, and what it says about a request that it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.catalogue.recommended_settings import add_recommended
from diffprof.laws.law import Domain, Law, Range, merge_ranges
from diffprof.laws.law_file import packaged_law
from diffprof.laws.programs import OutsideOfLaw
from diffprof.record.request import Request


def law_with(**changes: object) -> Law:
    law = packaged_law("sd-2.1-base")
    assert law is not None
    return replace(law, domains=tuple(replace(domain, **changes) for domain in law.domains))


def request(height: int, width: int) -> Request:
    return add_recommended(Request.create("sd-2.1-base", {"height": height, "width": width}))


def test_sizes_that_a_pipeline_computes_at_are_covered_and_no_others() -> None:
    law = law_with(sizes=((512, 512), (384, 640)))
    assert law.profile(request(384, 640)).total.macs > 0
    with pytest.raises(OutsideOfLaw, match=r"proved for the 2 sizes .*, such as 512x512, not for 520x512"):
        law.profile(request(520, 512))


def test_an_area_must_be_the_multiple_that_was_proved() -> None:
    law = law_with(area_multiple=8192)
    assert law.profile(request(512, 512)).total.macs > 0
    with pytest.raises(OutsideOfLaw, match="height x width that is a multiple of 8,192"):
        law.profile(request(520, 512))


def test_a_range_of_one_number_is_written_as_that_number() -> None:
    assert str(Range(1, 1)) == "1"
    assert str(Range(256, 2048, 8)) == "256 to 2,048 in steps of 8"


def test_ranges_that_go_on_from_each_other_are_one() -> None:
    ranges = [Range(4, 150), Range(2, 2), Range(3, 3), Range(7, 7), Range(2, 2)]
    assert merge_ranges(ranges) == [Range(2, 150)]
    assert merge_ranges([Range(1024, 1024), Range(256, 2048, 16)]) == [Range(256, 2048, 16)]
    assert merge_ranges([Range(5, 9), Range(1, 2)]) == [Range(1, 2), Range(5, 9)]


def test_a_domain_without_sides_has_no_sizes_to_refuse() -> None:
    assert Domain({"num_inference_steps": Range(1, 150)}).contains({"num_inference_steps": 7}, None, 1)


def test_a_part_of_the_sizes_has_whole_cells_at_least() -> None:
    law = law_with(least_volume=512 * 512)
    assert law.profile(request(512, 520)).total.macs > 0
    with pytest.raises(OutsideOfLaw, match="not proved for this combination of sizes"):
        law.profile(request(520, 504))  # whole cells of 16: 512 x 496


def law_of_prompts() -> Law:
    law = law_with()
    domains = tuple(replace(one, ranges={**one.ranges, "tokens": Range(1, 60)}) for one in law.domains)
    sources, defaults = {**law.sources, "tokens": "prompt"}, {**law.defaults, "prompt": 5}
    return replace(law, domains=domains, sources=sources, defaults=defaults)


def test_a_prompt_counts_by_its_words_and_marks() -> None:
    law = law_of_prompts()
    _, numbers = law.program(request(512, 512))
    assert numbers["tokens"] == 5
    _, numbers = law.program(request(512, 512).with_arguments({"prompt": "A cat, and 2 dogs."}))
    assert numbers["tokens"] == 7
    assert law.profile(request(512, 512).with_arguments({"prompt": "A cat"})).request.value("prompt") == "A cat"


@pytest.mark.parametrize("prompt", ["word " * 70 + "word", "(cat:1.3)", ["a cat", "a dog"]])
def test_a_prompt_that_is_too_long_or_not_plain_is_not_covered(prompt: object) -> None:
    with pytest.raises(OutsideOfLaw, match="prompt"):
        law_of_prompts().program(request(512, 512).with_arguments({"prompt": prompt}))


def test_numbers_become_the_arguments_that_have_them() -> None:
    arguments = law_of_prompts().arguments({"height": 512, "tokens": 3})
    assert arguments == {"height": 512, "prompt": "a photo of"}


def test_without_recommendations_the_defaults_are_those_of_the_pipeline() -> None:
    """FLUX.1-dev is recommended with 50 steps; the call of its pipeline has 28."""
    law = packaged_law("flux.1-dev")
    assert law is not None
    plain = Request.create("flux.1-dev", {}, pipeline_defaults=True)
    given = Request.create("flux.1-dev", {"num_inference_steps": 28}, pipeline_defaults=True)
    assert law.profile(plain).steps.count == law.profile(plain).request.value("num_inference_steps") == 28
    assert law.profile(plain).total == law.profile(given).total
    assert law.profile(add_recommended(Request.create("flux.1-dev"))).steps.count == 50


def test_a_default_that_the_pipeline_works_out_itself_is_not_made_up() -> None:
    law = packaged_law("flux.1-dev")
    assert law is not None
    unknown = replace(law, defaults={**law.defaults, "num_inference_steps": None})
    with pytest.raises(OutsideOfLaw, match="does not know the default of num_inference_steps"):
        unknown.profile(Request.create("flux.1-dev"))
