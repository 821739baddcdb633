"""The text of each rule: every number in it is evidence, and every call that it advises exists."""

from __future__ import annotations

import re

import pytest

from diffprof.findings import RULES
from diffprof.render.finding_words import WORDS
from tests.findings.problems import PROBLEMS, the_finding

CASES = [(rule.name, case) for rule in RULES for case in rule.cases]


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_every_number_that_a_text_names_is_in_the_evidence(rule: str, case: str) -> None:
    finding = the_finding(PROBLEMS[rule, case](), rule)
    title, *groups = WORDS[rule, case]
    names = set(re.findall(r"{(\w+)}", " ".join([title, *(sentence for group in groups for sentence in group)])))
    # The longest calls are not known for every run.
    assert names - finding.evidence.keys() <= {"longest_seconds", "longest_share"}
    assert {name for name in re.findall(r"{(\w+)}", title) if finding.evidence[name] is None} == set()


def test_every_option_that_is_advised_is_one_of_run() -> None:
    from typer.main import get_command

    from diffprof.cli.commands.run import app
    from diffprof.pipelines.plans.classes import scheduler_class

    known = {option for parameter in get_command(app).params for option in parameter.opts}
    lines = [line.split() for words in WORDS.values() for line in words.command]
    assert {word for line in lines for word in line if word.startswith("--")} <= known
    for line in lines:
        if line[0] == "--scheduler":
            assert scheduler_class(line[1].replace("{solver}", "DPMSolverMultistepScheduler"))


def test_every_call_that_is_advised_exists() -> None:
    import diffusers
    import transformers

    models = (
        diffusers.UNet2DConditionModel,
        diffusers.FluxTransformer2DModel,
        diffusers.AutoencoderKL,
        transformers.CLIPTextModel,
    )
    advice = " ".join(sentence for words in WORDS.values() for sentence in (*words.advice, *words.python))
    of_components = set(re.findall(r"pipe\.\{component\}\.(\w+)\(", advice))
    of_pipelines = set(re.findall(r"pipe\.(\w+)\(", advice))
    classes = set(re.findall(r"\b(\w+(?:Scheduler|Config|Processor2_0|Tiny))\b", advice))
    assert {"enable_tiling", "enable_group_offload", "set_attn_processor", "disable_cache"} <= of_components
    assert {"encode_prompt", "enable_model_cpu_offload", "maybe_free_model_hooks"} <= of_pipelines
    assert [name for name in of_components if not any(hasattr(model, name) for model in models)] == []
    assert [name for name in of_pipelines if not hasattr(diffusers.StableDiffusionPipeline, name)] == []
    assert [name for name in classes if not hasattr(diffusers, name) and name != "AttnProcessor2_0"] == []
    assert hasattr(diffusers.models.attention_processor, "AttnProcessor2_0")
