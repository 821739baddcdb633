"""``diffprof fit`` from the shell."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import diffprof
from tests.cli.conftest import Run
from tests.prediction.samples import FILE as OLD_FILE
from tests.small_pipelines import SMALL_PIPELINES


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    small = SMALL_PIPELINES["stable-diffusion"]
    profile = diffprof.profile(small.build(), **small.arguments())
    return str(profile.save(tmp_path_factory.mktemp("fit") / "small.json"))


def test_the_answer_names_three_figures_and_the_place_of_the_peak(run: Run, file: str) -> None:
    ended = run("fit", file, "--gpu", "rtx-4090")
    assert (ended.code, ended.err) == (0, "")
    assert "fits on rtx-4090" in ended.out
    assert all(word in ended.out for word in ("allocated", "reserved", "as nvidia-smi shows it", "where: "))


def test_json_has_the_names_that_others_build_on(run: Run, file: str) -> None:
    values = json.loads(run("fit", file, "--memory", "8GB", "--json").out)
    assert values["fits"] is True
    assert set(values["peak"]) == {
        *("allocated_bytes", "reserved_bytes", "device_bytes", "stage", "component", "module"),
    }  # fmt: skip
    assert set(values["host"]) == {"peak_bytes", "pinned_bytes", "load_bytes"}
    assert [stage["stage"] for stage in values["stages"]] == ["load", "encode", "denoise", "decode"]


def test_stages_as_csv(run: Run, file: str) -> None:
    rows = list(csv.DictReader(io.StringIO(run("fit", file, "--csv").out)))
    assert [row["stage"] for row in rows] == ["load", "encode", "denoise", "decode"]
    assert int(rows[0]["weight_bytes"]) > 0


@pytest.mark.parametrize("ending", ["json", "csv", "txt", "html"])
def test_each_kind_of_file(ending: str, run: Run, file: str, tmp_path: Path) -> None:
    target = tmp_path / f"fit.{ending}"
    ended = run("fit", file, "--gpu", "rtx-4090", "-o", str(target))
    assert (ended.code, ended.out) == (0, "")
    assert "decode" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--gpu", "rtx-4099"], "Unknown accelerator 'rtx-4099'; did you mean rtx-4090"),
        (["--gpu", "l4,t4"], "A fit is for one accelerator"),
        (["--gpu", "t4", "--dtype", "bf16"], "t4 does not compute in bfloat16"),
        (["--gpu", "l4", "--memory", "24GB"], "leave out --memory"),
        (["--memory", "x"], "--memory must be an amount of memory such as 24GB, not 'x'."),
        (["--ram", "0"], "--ram must be above 0"),
        (["--offload", "disk"], "Unknown offload mode 'disk'; use one of none, model"),
        (["--hardware", "own.toml"], "--hardware adds accelerators; name one of them with --gpu."),
        (["--devices", "none"], "--devices must be a whole number from 1 to 10,000, not 'none'."),
        (["--layerwise", "int3"], "Layers cannot be stored as 'int3'"),
        (["--attention", "flash9"], "Unknown attention 'flash9'; use sdpa or math."),
        (["--enable", "vae_tiling"], "is a saved profile with its own request; leave out --enable"),
        (["--set", "x=1"], "leave out --set, or name the model"),
        (["--json", "--csv"], "--json and --csv exclude each other"),
        (["-o", "fit.xls"], "Cannot tell the format of fit.xls"),
    ],
)
def test_a_wrong_request_is_one_sentence(arguments: list[str], sentence: str, run: Run, file: str) -> None:
    ended = run("fit", file, *arguments)
    assert ended.code == 2
    assert sentence in ended.err
    assert len(ended.err.strip().splitlines()) == 1


def test_a_profile_of_an_earlier_version_is_refused(run: Run) -> None:
    ended = run("fit", str(OLD_FILE), "--gpu", "l4")
    assert ended.code == 2
    assert "count the model again" in ended.err
