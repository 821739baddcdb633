"""Findings in words: whole sentences with numbers."""

from __future__ import annotations

import re

import pytest

from diffprof.findings import RULES, Finding, findings
from diffprof.render.findings import finding_lines, format_evidence
from tests.findings.problems import PROBLEMS, findings_of_kind, the_finding

CASES = [(rule.name, case) for rule in RULES for case in rule.cases]


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_every_finding_is_in_whole_sentences(rule: str, case: str) -> None:
    for finding in findings_of_kind(PROBLEMS[rule, case](), rule):
        lines = finding_lines(finding)
        for text in (lines.title, lines.evidence, lines.advice, *lines.python, *lines.command):
            assert text
            assert not re.search(r"[{}]|None|\n|unknown", text), text
        assert lines.title.endswith(".")
        assert lines.advice.endswith(".")


def test_a_finding_reads_like_this() -> None:
    lines = finding_lines(the_finding(PROBLEMS["dominant_section", "denoiser"](), "dominant_section"))
    assert lines.title == "unet_forward takes 71.8 % of the time: 24.0 s in 12 calls."
    assert lines.evidence == (
        "2.00 s per call; everything else takes 28.2 %; "
        "vae_decode has longer calls (3.00 s), but only 26.9 % of the time"
    )
    assert "pipe.unet.compile()" in lines.python
    # diffusers gives enable_cache to transformers, not to UNets.
    assert not any("enable_cache" in line for line in lines.python)


def test_memory_reads_like_this() -> None:
    lines = finding_lines(the_finding(PROBLEMS["vae_decode_memory", "several_pictures"](), "vae_decode_memory"))
    assert lines.title == (
        "The VAE needs 8.38 GiB on the device, everything else at most 3.73 GiB: it determines whether the run fits."
    )
    assert "4 images are decoded at once" in lines.evidence
    assert lines.python[0] == "pipe.vae.enable_slicing()"
    assert lines.command == ("--enable vae_slicing", "--enable vae_tiling")


def test_a_sentence_without_its_numbers_is_left_out() -> None:
    finding = Finding(
        "cache_never_hits", "no_hit", 0.0, {"cache": "kv", "component": None, "asks": 5, "held_bytes": None}
    )
    lines = finding_lines(finding)
    assert lines.title == "The cache kv never hit, in 5 lookups."
    assert lines.evidence == ""
    assert lines.python == ()


def test_text_from_outside_is_shortened_to_one_line() -> None:
    text = format_evidence("error", "[red]one\n\x1b[31mtwo" + "!" * 1_000)
    assert len(text) == 200
    assert "\n" not in text
    assert "\x1b" not in text


def test_the_same_finding_has_the_same_words_whatever_else_was_found() -> None:
    profile = PROBLEMS["offload_dominates", "busy"]()
    texts = [finding_lines(finding).title for finding in findings(profile)]
    assert len(set(texts)) == len(texts)
