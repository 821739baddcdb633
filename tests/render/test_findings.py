"""Findings in words: whole sentences with figures, and calls that exist."""

from __future__ import annotations

import re

import pytest

from diffprof.findings import RULES, Finding, findings
from diffprof.render.finding_words import WORDS
from diffprof.render.findings import finding_lines, format_evidence
from tests.findings.problems import PROBLEMS, found, the_finding

CASES = [(rule.name, case) for rule in RULES for case in rule.cases]


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_every_finding_is_in_whole_sentences(rule: str, case: str) -> None:
    for finding in found(PROBLEMS[rule, case](), rule):
        lines = finding_lines(finding)
        for text in lines:
            assert text
            assert not re.search(r"[{}]|None|\n|unknown", text), text
        assert lines.title.endswith(".")
        assert lines.advice.endswith(".")


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_every_number_that_a_text_names_is_in_the_evidence(rule: str, case: str) -> None:
    finding = the_finding(PROBLEMS[rule, case](), rule)
    title, *groups = WORDS[rule, case]
    names = set(re.findall(r"{(\w+)}", " ".join([title, *(sentence for group in groups for sentence in group)])))
    # The longest calls are not known for every run.
    assert names - finding.evidence.keys() <= {"longest_seconds", "longest_share"}
    assert {name for name in re.findall(r"{(\w+)}", title) if finding.evidence[name] is None} == set()


def test_a_finding_reads_like_this() -> None:
    lines = finding_lines(the_finding(PROBLEMS["dominant_section", "denoiser"](), "dominant_section"))
    assert lines.title == "unet_forward takes 71.8 % of the time: 24.000s in 12 calls."
    assert lines.evidence == (
        "2.000s per call; everything else takes 28.2 %; "
        "vae_decode has longer calls (3.000s), but only 26.9 % of the time"
    )
    assert "pipe.unet.compile()" in lines.advice


def test_memory_reads_like_this() -> None:
    lines = finding_lines(the_finding(PROBLEMS["vae_decode_memory", "several_pictures"](), "vae_decode_memory"))
    assert lines.title == (
        "The VAE needs 8.38 GiB on the device, everything else at most 3.73 GiB: it determines whether the run fits."
    )
    assert "4 images are decoded at once" in lines.evidence
    assert lines.advice.startswith("pipe.vae.enable_slicing()")


def test_a_sentence_without_its_numbers_is_left_out() -> None:
    finding = Finding(
        "cache_never_hits", "no_hit", 0.0, {"cache": "kv", "component": None, "asks": 5, "held_bytes": None}
    )
    lines = finding_lines(finding)
    assert lines.title == "The cache kv never hit, in 5 lookups."
    assert lines.evidence == ""
    assert "disable_cache" not in lines.advice


def test_text_from_outside_is_shortened_to_one_line() -> None:
    text = format_evidence("error", "[red]one\n\x1b[31mtwo" + "!" * 1_000)
    assert len(text) == 200
    assert "\n" not in text
    assert "\x1b" not in text


def test_every_call_that_is_advised_exists() -> None:
    import diffusers
    import transformers

    models = (
        diffusers.UNet2DConditionModel,
        diffusers.FluxTransformer2DModel,
        diffusers.AutoencoderKL,
        transformers.CLIPTextModel,
    )
    advice = " ".join(sentence for words in WORDS.values() for sentence in words.advice)
    of_components = set(re.findall(r"pipe\.\{component\}\.(\w+)\(", advice))
    of_pipelines = set(re.findall(r"pipe\.(\w+)\(", advice))
    classes = set(re.findall(r"\b(\w+(?:Scheduler|Config|Processor2_0|Tiny))\b", advice))
    assert {"enable_tiling", "enable_group_offload", "set_attn_processor", "disable_cache"} <= of_components
    assert {"encode_prompt", "enable_model_cpu_offload", "maybe_free_model_hooks"} <= of_pipelines
    assert [name for name in of_components if not any(hasattr(model, name) for model in models)] == []
    assert [name for name in of_pipelines if not hasattr(diffusers.StableDiffusionPipeline, name)] == []
    assert [name for name in classes if not hasattr(diffusers, name) and name != "AttnProcessor2_0"] == []
    assert hasattr(diffusers.models.attention_processor, "AttnProcessor2_0")


def test_the_same_finding_has_the_same_words_whatever_else_was_found() -> None:
    profile = PROBLEMS["offload_dominates", "busy"]()
    texts = [finding_lines(finding).title for finding in findings(profile)]
    assert len(set(texts)) == len(texts)
