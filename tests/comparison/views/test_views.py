"""A comparison as people and programs read it."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from diffprof.comparison import Comparison, compare
from diffprof.comparison.counts import METRICS
from diffprof.comparison.image_difference import ImageDifference
from diffprof.comparison.parts import OPERATION, PartChange
from diffprof.comparison.views.console import comparison_markdown, print_comparison
from diffprof.comparison.views.data import COLUMNS, ComparisonBy, comparison_csv, comparison_json
from diffprof.comparison.views.tables import blocks
from diffprof.record.profile import Profile
from diffprof.render.console import render_text
from tests.comparison.noise import SECOND, quiet, run_of
from tests.iterations_made_by_hand import CPU
from tests.profiles_made_by_hand import everything_measured, hostile, measured_profile, nothing, stable_diffusion

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "comparison.schema.json").read_text(encoding="utf-8"))


def made(*profiles: Profile, **options: object) -> Comparison:
    return compare(profiles, [chr(ord("A") + number) for number in range(len(profiles))], **options)  # type: ignore[arg-type]


def text(comparison: Comparison, width: int = 110) -> str:
    return render_text(lambda console: print_comparison(comparison, console), width)


def fewer_steps() -> Comparison:
    return made(stable_diffusion(), stable_diffusion(steps=20, unet_calls=21))


def two_runs() -> Comparison:
    source = random.Random(1)
    before = run_of([*quiet(source, 20), 9 * SECOND], warmups=[5 * SECOND])
    return made(before, run_of(quiet(source, 20, 1.2)))


EVERY = [
    fewer_steps,
    two_runs,
    lambda: made(stable_diffusion(), stable_diffusion()),
    lambda: made(stable_diffusion(), measured_profile()),
    lambda: made(measured_profile(), measured_profile(), everything_measured()),
    lambda: made(hostile(), nothing()),
    lambda: made(nothing(), hostile(), stable_diffusion()),
]


def test_fewer_steps_as_they_are_shown(golden: Callable[[str, str], None]) -> None:
    golden("fewer_steps.txt", text(fewer_steps()))
    golden("fewer_steps.md", comparison_markdown(fewer_steps()))


def test_two_runs_as_they_are_shown(golden: Callable[[str, str], None]) -> None:
    golden("two_runs.txt", text(two_runs()))


def test_three_as_they_are_shown(golden: Callable[[str, str], None]) -> None:
    golden("three.txt", text(made(stable_diffusion(), stable_diffusion(steps=20, unet_calls=21), measured_profile())))


def test_what_differs_is_said_before_any_number() -> None:
    shown = text(fewer_steps())
    differs = shown.index("requested num_inference_steps: 30 / 20")
    assert shown.index("Can they be compared?") < differs < shown.index("Not the same request") < shown.index("Counted")
    assert "Nothing differs" in text(made(stable_diffusion(), stable_diffusion()))


def test_equal_profiles_are_exactly_the_same() -> None:
    assert "Exactly the same: every metric, call, operation and module." in text(
        made(stable_diffusion(), stable_diffusion())
    )


def test_another_device_is_said_to_tell_devices_apart() -> None:
    shown = text(made(run_of([SECOND] * 9), run_of([SECOND] * 9, device=CPU)))
    assert "device: name: NVIDIA A100-SXM4-80GB / AMD EPYC 7763" in shown
    assert "the times compare the devices, not the code" in shown


def test_too_few_samples_and_a_busy_machine_are_said_with_what_helps() -> None:
    few = " ".join(text(made(run_of([SECOND] * 3), run_of([SECOND] * 3))).split())
    assert "3 and 3 iterations are too few to tell a difference from noise; measure 20 or more" in few
    waited = [run_of([SECOND] * 9, device=CPU, cpu_share=share) for share in (1.0, 0.4)]
    busy = " ".join(text(made(*waited)).split())
    assert "Other processes used the CPU meanwhile: B had 40.0 % of one core; measure on a quieter machine" in busy


def test_images_are_compared() -> None:
    same = ImageDifference("a.png", "b.png", True, None, 1.0)
    other = ImageDifference("a.png", "b.png", False, 31.4159, 0.99996)
    sizes = ImageDifference("a.png", "b.png", False, None, None, "not of the same size: 8 x 8 and 9 x 9")
    shown = text(replace(made(stable_diffusion(), stable_diffusion()), images=(same, other, sizes)))
    assert "a.png and b.png: identical, pixel by pixel" in shown
    assert "PSNR 31.42 dB, SSIM 0.9999" in shown
    assert "not of the same size: 8 x 8 and 9 x 9" in shown


@pytest.mark.parametrize("comparison", EVERY)
def test_json_is_what_the_schema_says(comparison: Callable[[], Comparison]) -> None:
    values = json.loads(comparison_json(comparison()))
    jsonschema.validate(values, SCHEMA, cls=jsonschema.Draft202012Validator)


def test_json_has_every_figure_exactly() -> None:
    values = json.loads(comparison_json(fewer_steps()))
    (pair,) = values["pairs"]
    assert {row["name"]: row["before"] for row in pair["totals"]} == {
        name: figure(stable_diffusion()) for name, figure in METRICS.items()
    }
    assert (values["same_request"], values["same_device"]) == (False, True)
    assert sum(row["difference"] for row in pair["totals"] if row["name"] == "macs") == -10 * 804_257_464_320


@pytest.mark.parametrize("comparison", EVERY)
@pytest.mark.parametrize("by", list(ComparisonBy))
def test_every_table_is_csv(comparison: Callable[[], Comparison], by: ComparisonBy) -> None:
    compared = comparison()
    rows = list(csv.DictReader(io.StringIO(comparison_csv(compared, by))))
    if by is ComparisonBy.profile:
        assert [row["name"] for row in rows] == list(compared.names)
    elif by is ComparisonBy.condition:
        assert len(rows) == len(compared.conditions)
    else:
        assert all(list(row) == ["before", "after", *COLUMNS[by]] and None not in row.values() for row in rows)
    if by is ComparisonBy.total:
        assert len(rows) == len(compared.pairs) * len(METRICS)


@pytest.mark.parametrize("comparison", EVERY)
@pytest.mark.parametrize("width", [40, 80, 200])
def test_it_fits_any_terminal(comparison: Callable[[], Comparison], width: int) -> None:
    assert all(len(line) <= width for line in text(comparison(), width).splitlines())


def test_names_from_outside_stay_names() -> None:
    evil = replace(
        hostile(), request=replace(hostile().request, arguments={"prompt": "<script>alert(1)</script> | *b* `c`"})
    )
    shown = comparison_markdown(made(stable_diffusion(), evil))
    assert "<script>" not in shown
    assert "\x1b" not in shown and "\x1b" not in text(made(stable_diffusion(), evil))
    assert r"\[red\]evil\[/red\]" in shown
    assert "[red]evil[/red]" in text(made(stable_diffusion(), evil), 200)
    table = [line for line in shown.splitlines() if line.startswith("| ") and "component" in line]
    assert table


def test_many_changes_are_cut_and_said_to_be() -> None:
    comparison = made(hostile(), stable_diffusion())
    cut = render_text(lambda console: print_comparison(comparison, console, 1), 110)
    assert "more: --json and --csv have all." in cut


def test_one_change_of_the_pipelines_own_code_differs_and_two_differ() -> None:
    same = compare([stable_diffusion()] * 2, ["a", "b"])
    own = [PartChange(OPERATION, "pipeline", name, None, None) for name in ("add", "mul")]
    for parts, said in (
        (own[:1], "1 operation of its own code differs,"),
        (own, "2 operations of its own code differ,"),
    ):
        made = replace(same, pairs=(replace(same.pairs[0], parts=tuple(parts)),))
        assert any(said in line for block in blocks(made) for line in block.lines)
