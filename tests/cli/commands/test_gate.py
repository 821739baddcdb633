"""``diffprof gate`` from the shell: exit codes are what a pull request sees."""

from __future__ import annotations

import json
import random
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Engine, Run
from tests.comparison.noise import quiet, run_of
from tests.sample_profiles import hostile, stable_diffusion


@pytest.fixture
def baseline(tmp_path: Path) -> str:
    return str(stable_diffusion().save(tmp_path / "baseline.json"))


@pytest.fixture
def heavier(tmp_path: Path) -> str:
    return str(stable_diffusion(unet_calls=32).save(tmp_path / "heavier.json"))


def times(tmp_path: Path, slowdown: float) -> tuple[str, str]:
    source = random.Random(21)
    before, after = run_of(quiet(source, 20)), run_of(quiet(source, 20, slowdown))
    return str(before.save(tmp_path / "a.json")), str(after.save(tmp_path / "b.json"))


def test_the_same_passes_and_more_fails(baseline: str, heavier: str, run: Run) -> None:
    same = run("gate", baseline, baseline)
    assert (same.code, same.err) == (0, "")
    assert same.out.startswith("Passed:")
    more = run("gate", baseline, heavier)
    assert (more.code, more.err) == (1, "")
    assert more.out.startswith("Failed:")
    assert run("gate", baseline, heavier, "--max", "macs=+5%", "--max", "calls=+1").code == 0
    assert run("gate", heavier, baseline).code == 0, "lighter is welcome"


@pytest.mark.parametrize(("slowdown", "code"), [(1.0, 0), (1.1, 1), (1.05, 3)])
def test_times_have_three_exit_codes(slowdown: float, code: int, run: Run, tmp_path: Path) -> None:
    assert run("gate", *times(tmp_path, slowdown), "--max", "time=+5%").code == code


def test_a_model_is_counted_with_the_request_of_the_baseline(baseline: str, run: Run, engine: Engine) -> None:
    assert run("gate", baseline, "sd-2.1-base").code == 0
    request = engine.request
    assert (request.model, request.dtype, request.scheduler, request.enable) == ("sd-2.1-base", "float16", None, ())
    assert (request.arguments["height"], request.arguments["num_inference_steps"]) == (512, 30)


def test_summaries_are_written_to_files_too(baseline: str, heavier: str, run: Run, tmp_path: Path) -> None:
    summary, report = tmp_path / "summary.md", tmp_path / "junit.xml"
    ended = run("gate", baseline, heavier, "-o", str(summary), "-o", str(report), "--junit", str(tmp_path / "too"))
    assert ended.code == 1
    assert ended.out.startswith("Failed:")
    assert ended.err == f"Wrote {summary}\nWrote {report}\nWrote {tmp_path / 'too'}\n"
    assert report.read_bytes() == (tmp_path / "too").read_bytes()
    assert summary.read_text(encoding="utf-8").startswith("## Failed: a limit is exceeded.")
    assert ElementTree.parse(report).getroot().get("failures") == "2"


def test_the_outcome_for_programs_and_pull_requests(baseline: str, heavier: str, run: Run) -> None:
    values = json.loads(run("gate", baseline, heavier, "--json").out)
    assert (values["outcome"], values["exit_code"], values["candidate"]) == ("failed", 1, "heavier")
    assert run("gate", baseline, heavier, "--markdown").out.startswith("## Failed")
    quiet_run = run("gate", baseline, heavier, "--quiet")
    assert (quiet_run.code, quiet_run.out) == (1, "")


def test_another_request_is_rejected_unless_allowed(baseline: str, run: Run, tmp_path: Path) -> None:
    other = str(stable_diffusion(steps=20, unet_calls=21).save(tmp_path / "other.json"))
    ended = run("gate", baseline, other, "--junit", str(tmp_path / "junit.xml"))
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "from another request: num_inference_steps is 30 there and 20 here" in ended.err
    assert not (tmp_path / "junit.xml").exists()
    assert run("gate", baseline, other, "--allow-different").code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["missing.json", "{baseline}"],
            "There is no baseline missing.json; make one with `diffprof profile ... -o missing",
        ),
        (["{baseline}", "missing.json"], "Cannot read missing.json"),
        (["{foreign}", "{baseline}"], "not a diffprof profile"),
        (["{baseline}", "{baseline}", "--max", "speed=+5%"], "There is no metric speed"),
        (["{baseline}", "{baseline}", "--max", "time=+5%"], "only counted, not measured"),
        (["{baseline}", "{baseline}", "--json", "--markdown"], "exclude each other"),
        (["{baseline}", "{baseline}", "-o", "outcome.docx"], "Cannot tell the format of outcome.docx"),
        (["{baseline}", "{hostile}"], "from another request"),
    ],
)
def test_impossible_requests_are_rejected_with_one_message(
    arguments: list[str], sentence: str, baseline: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "foreign.json").write_text("[]")
    places = {
        "baseline": baseline,
        "foreign": tmp_path / "foreign.json",
        "hostile": hostile().save(tmp_path / "hostile.json"),
    }
    ended = run("gate", *[argument.format(**places) for argument in arguments])
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert sentence in ended.err


@pytest.mark.parametrize("option", ["-o", "--junit"])
def test_a_summary_that_cannot_be_written_is_reported_before_anything_is_counted(
    option: str, baseline: str, run: Run, engine: Engine, tmp_path: Path
) -> None:
    ended = run("gate", baseline, "sd-2.1-base", option, str(tmp_path / "no" / "summary.xml"))
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "there is no folder" in ended.err
    assert engine.requests == []
