"""``diffprof hardware`` lists the accelerators, and shows one with the source of every number."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from diffprof.catalogue.accelerators import accelerators, find_accelerator
from tests.cli.conftest import Run

OWN = """
format = 2

[[accelerator]]
name = "my-gpu"
maker = "Me"
architecture = "own"
memory_gib = 24
bandwidth_gb_per_second = 1000
peak_teraflops = { float16 = 100 }
source = "measured here"
"""


@pytest.fixture
def own_file(tmp_path: Path) -> str:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    return str(path)


def test_hardware_lists_every_accelerator(run: Run) -> None:
    lines = run("hardware").out.splitlines()
    assert [line.split()[0] for line in lines if line][2 : 2 + len(accelerators())] == [a.name for a in accelerators()]


def test_an_accelerator_as_it_is_shown(run: Run, golden: Callable[[str, str], None]) -> None:
    shown, _, reached = run("hardware", "show", "RTX 4090").out.partition("\nAchieved rates that predictions assume\n")
    golden("hardware_show_rtx_4090.txt", shown)
    assert reached.startswith("large product in float32")


def test_the_list_can_be_filtered_by_a_word_in_a_name_a_maker_or_an_architecture(run: Run) -> None:
    def names(*arguments: str) -> list[str]:
        return [row["name"] for row in csv.DictReader(io.StringIO(run("hardware", "--csv", *arguments).out))]

    assert names("RTX-3080") == ["rtx-3080-ti", "rtx-3080-12gb", "rtx-3080-10gb"]
    assert names("--match", "volta") == [a.name for a in accelerators() if a.architecture == "volta"]
    assert names("amd") == [a.name for a in accelerators() if a.maker == "AMD"]
    assert names("RTX4090") == ["rtx-4090"]


def test_json_is_the_same_in_the_list_and_alone(run: Run) -> None:
    listed = {entry["name"]: entry for entry in json.loads(run("hardware", "--json").out)}
    shown = json.loads(run("hardware", "show", "mi300x", "--json").out)
    assert shown.pop("reached")["family"] == "cdna3"
    assert shown == listed["mi300x"]
    assert listed["mi300x"]["peak_flops_per_second"]["bfloat16"] == 1307.4e12


@pytest.mark.parametrize("arguments", [["hardware"], ["hardware", "show", "t4"]])
def test_lines_have_no_spaces_at_their_ends(arguments: list[str], run: Run) -> None:
    lines = run(*arguments).out.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_file_adds_its_accelerators(own_file: str, run: Run) -> None:
    assert run("hardware", "--file", own_file).out.splitlines()[2].startswith("my-gpu")
    assert "rtx-4090" in run("hardware", "--file", own_file).out
    assert [e["name"] for e in json.loads(run("hardware", "--file", own_file, "--json", "my").out)] == ["my-gpu"]
    assert "measured here" in run("hardware", "show", "MY GPU", "--file", own_file).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "rtx-4091"], "Unknown accelerator 'rtx-4091'; did you mean rtx-4090"),
        (["abacus"], "Unknown accelerator 'abacus'; `diffprof hardware` lists the known ones."),
        (["show", "RTX 4060 Ti"], "RTX 4060 Ti can mean rtx-4060-ti-16gb or rtx-4060-ti-8gb; choose one of them."),
        (["show", "Apple M3 Max"], "Apple publishes no peaks"),
        (["--json", "--csv"], "--json and --csv exclude each other; choose one."),
        (["--file", "none.toml"], "Cannot read none.toml: No such file or directory."),
        (["show", "t4", "--file", "none.toml"], "Cannot read none.toml: No such file or directory."),
        (["t4", "l4"], "Give one WORD to search for, or `show NAME`."),
    ],
)
def test_impossible_requests_are_rejected_with_one_message(arguments: list[str], message: str, run: Run) -> None:
    ended = run("hardware", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1


def test_invalid_values_in_a_file_are_rejected_with_one_message(own_file: str, run: Run) -> None:
    Path(own_file).write_text(OWN.replace("float16 = 100", "float16 = -100"))
    ended = run("hardware", "--file", own_file)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "own.toml, accelerator 1 (my-gpu), peak_teraflops: float16 must be more than 0, not -100." in ended.err


def test_a_machine_is_calibrated_and_known_by_its_name(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffprof.runtime import hardware_calibration

    entry = replace(find_accelerator("t4"), name="my-machine", aliases=(), measured={"speed": 0.9})
    monkeypatch.setattr(hardware_calibration, "calibrate", lambda device, name, progress: entry)
    file = tmp_path / "own.toml"
    ended = run("hardware", "calibrate", "--device", "cpu", "-o", str(file))
    assert ended.code == 0
    assert "measured on this machine" in ended.out
    assert "my-machine" in run("hardware", "--file", str(file)).out


def test_a_name_that_no_option_could_take_is_refused(run: Run) -> None:
    ended = run("hardware", "calibrate", "--name", "My Machine!")
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert "--name must be lower-case letters, digits, dots and hyphens" in ended.err


def test_a_name_of_the_catalogue_is_refused_on_another_device(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    ended = run("hardware", "calibrate", "--device", "cpu", "--name", "h100-sxm", "-o", str(file))
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "h100-sxm is another accelerator of the catalogue (NVIDIA H100 80GB HBM3), and this device is" in ended.err
    assert not file.exists()


def test_nothing_is_saved_by_a_calibration_on_a_busy_machine(
    run: Run, own_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffprof.runtime import hardware_calibration

    def refuse(*arguments: object) -> None:
        raise hardware_calibration.BusyMachineError("This machine seems busy.")

    monkeypatch.setattr(hardware_calibration, "calibrate", refuse)
    ended = run("hardware", "calibrate", "--device", "cpu", "-o", own_file)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert "This machine seems busy." in ended.err
    assert Path(own_file).read_text() == OWN
