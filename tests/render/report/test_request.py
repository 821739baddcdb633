"""The request and the versions on a page."""

from __future__ import annotations

from dataclasses import replace

from diffprof.render.report.request import environment_html, format_argument, request_html
from tests.sample_profiles import stable_diffusion


def test_arguments_and_defaults_are_listed_and_unset_ones_are_not() -> None:
    html = request_html(stable_diffusion())
    assert "<dt>num_inference_steps</dt><dd>30</dd>" in html
    assert "<dt>prompt</dt><dd>a photo</dd>" in html
    assert "negative_prompt" not in html


def test_versions_are_listed() -> None:
    assert "<dt>diffusers</dt><dd>0.42.1</dd>" in environment_html(stable_diffusion())


def test_names_from_outside_are_escaped() -> None:
    profile = stable_diffusion()
    html = request_html(replace(profile, request=replace(profile.request, model="<script>alert(1)</script>")))
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html


def test_values_are_written_as_one_would_type_them() -> None:
    assert format_argument("a cat") == "a cat"
    assert format_argument([1, 2.5, None, "é"]) == '[1, 2.5, null, "é"]'
