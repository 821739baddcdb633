"""What a law covers, and what it says about a request that it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diffprof.catalogue.recommended import add_recommended
from diffprof.laws.law import Domain, Law, Range
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


def test_a_domain_without_sides_has_no_sizes_to_refuse() -> None:
    assert Domain({"num_inference_steps": Range(1, 150)}).contains({"num_inference_steps": 7}, None, 1)
