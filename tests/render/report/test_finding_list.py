"""Findings in a page."""

from __future__ import annotations

import html
from dataclasses import replace

from diffprof.record.profile import Profile
from diffprof.render.report.finding_list import findings_list
from tests.findings.problems import PROBLEMS


def named(profile: Profile, model: str) -> str:
    return html.unescape(str(findings_list(replace(profile, request=replace(profile.request, model=model)))))


def test_a_finding_has_its_sentences_and_code_to_copy() -> None:
    page = named(PROBLEMS["vae_decode_memory", "several_pictures"](), "sd-2.1-base")
    assert "The VAE needs 8.38 GiB on the device" in page
    assert "pipe.vae.enable_slicing()" in page
    assert "diffprof run sd-2.1-base --enable vae_slicing" in page


def test_a_model_from_elsewhere_is_not_named_in_a_command() -> None:
    page = named(PROBLEMS["vae_decode_memory", "several_pictures"](), "/home/me/model")
    assert "diffprof run MODEL --enable vae_slicing" in page


def test_nothing_found_is_a_sentence() -> None:
    profile = PROBLEMS["vae_decode_memory", "several_pictures"]()
    assert "Nothing stands out." in named(replace(profile, measured=None), "sd-2.1-base")
