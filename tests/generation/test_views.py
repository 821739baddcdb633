"""Generations on the console and as CSV."""

from __future__ import annotations

import csv
import io

from diffprof.findings import findings
from diffprof.generation.views import (
    GenerationRow,
    compute_profile_text,
    generations_csv,
    generations_markdown,
    print_generation,
    print_generations,
)
from diffprof.render.console import render_text
from diffprof.render.findings import finding_lines
from tests.findings.problems import PROBLEMS
from tests.sample_profiles import measured_profile


def test_the_text_of_the_guides_has_each_of_its_lines() -> None:
    keys = ("params_str", "total_flops_str", "total_macs_str", "flops_per_step_str", "macs_per_step_str")
    data = {
        "enabled": True, "model_id": "sd", "num_inference_steps": 30, "inference_time_str": "1.5s",
        **dict(zip(keys, "abcde", strict=True)),
    }  # fmt: skip
    assert compute_profile_text(data).splitlines() == [
        "Compute Profile for sd:", "   Parameters: a", "   FLOPs (total): b", "   MACs (total): c", "   FLOPs/step: d",
        "   MACs/step: e", "   Steps: 30", "", "Inference time: 1.5s",
    ]  # fmt: skip


def test_without_a_profile_the_reason_is_said() -> None:
    assert compute_profile_text({"enabled": False, "reason": "a bad day"}) == "No compute profile: a bad day"
    assert compute_profile_text({}) == "No compute profile: nothing was counted"


def test_one_generation_has_its_parts_its_steps_and_its_notes() -> None:
    text = render_text(lambda console: print_generation(measured_profile(), ["the seed was drawn"], console), 120)
    assert all(part in text for part in ("unet", "vae", "text_encoder", "the seed was drawn"))


def test_several_generations_are_a_table_in_which_what_is_unknown_is_a_dash() -> None:
    profile = PROBLEMS["vae_decode_memory", "several_pictures"]()
    rows = [
        GenerationRow("one", seconds=1.5, macs=2 * 10**12, steps=30, notes=("half of it",), profile=profile),
        GenerationRow("two", succeeded=False),
        GenerationRow("three"),
    ]
    text = render_text(lambda console: print_generations(rows, console), 120)
    one, two, three = (next(line for line in text.splitlines() if line.startswith(row.model)) for row in rows)
    assert one.split()[1:4] == ["30", "1.50", "s"]
    assert two.split()[1:3] == ["-", "failed"]
    assert three.split()[1:3] == ["-", "-"]
    assert "one: half of it" in text
    assert finding_lines(findings(profile)[0]).title.split()[0] in text
    table = generations_markdown(rows)
    assert "| one | 30 | 1.50 s |" in table
    assert "| two | - | failed |" in table
    assert "- one: half of it" in table


def test_csv_has_a_row_for_each_model_with_or_without_a_profile() -> None:
    models = [
        {"model_id": "one", "seed": 5, "compute_profile": {"total_macs": 7}},
        {"model_id": "two", "error": "no", "compute_profile": None},
    ]
    one, two = csv.DictReader(io.StringIO(generations_csv(models)))
    assert (one["model_id"], one["seed"], one["total_macs"]) == ("one", "5", "7")
    assert (two["error"], two["total_macs"]) == ("no", "")
