"""``diffprof predict`` from the shell."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Engine, Run
from tests.prediction.samples import FILE


def test_a_row_for_each_accelerator_the_fastest_first(run: Run) -> None:
    ended = run("predict", str(FILE), "--gpu", "t4,h100-sxm")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.index("h100-sxm") < ended.out.index("t4 ")
    assert "By component" in ended.out
    assert "By kind of operation" in ended.out


def test_json_has_the_names_that_others_build_on(run: Run) -> None:
    ended = run("predict", str(FILE), "--gpu", "h100-sxm", "--json")
    values = json.loads(ended.out)
    assert set(values["accelerators"]) == {"h100-sxm"}
    assert set(values["accelerators"]["h100-sxm"]) >= {
        *("total_seconds", "low_seconds", "high_seconds", "bound_seconds", "step_seconds", "components"),
        *("limited_by", "energy_joules", "price_usd", "fits"),
    }
    assert values["assumptions"]


@pytest.mark.parametrize("by", ["accelerator", "component", "kind"])
def test_each_table_as_csv(by: str, run: Run) -> None:
    ended = run("predict", str(FILE), "--gpu", "h100-sxm,l4", "--csv", "--by", by)
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert {row["accelerator"] for row in rows} == {"h100-sxm", "l4"}
    assert by in rows[0]


def test_a_model_is_counted_as_requested(run: Run, engine: Engine) -> None:
    run("predict", "sd-2.1-base", "--gpu", "h100-sxm", "--steps", "30", "--dtype", "fp16", "--compile")
    assert (engine.request.arguments, engine.request.dtype) == ({"num_inference_steps": 30}, "float16")


def test_accelerators_are_looked_up_before_anything_is_counted(run: Run, engine: Engine) -> None:
    for command in ("predict", "profile"):
        assert "Unknown accelerator 'nope'" in run(command, "sd-2.1-base", "--gpu", "nope").err
    assert engine.requests == []


@pytest.mark.parametrize("ending", ["json", "csv", "txt", "html"])
def test_each_kind_of_file(ending: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / f"times.{ending}"
    ended = run("predict", str(FILE), "--gpu", "h100-sxm", "-o", str(file))
    assert (ended.code, ended.out) == (0, "")
    assert "h100-sxm" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--gpu", "h100-sxn"], "Unknown accelerator 'h100-sxn'; did you mean h100-sxm"),
        (["--gpu", "h100-sxm,,t4"], "--gpu takes names separated by commas"),
        (["--gpu", "t4", "--dtype", "bf16"], "t4 does not compute in bfloat16; use float32 or float16."),
        (["--offload", "disk"], "Unknown offload mode 'disk'"),
        (["--quantize", "unet=int3"], "Unknown quantization 'int3'"),
        (["--quantize", "transformer=nf4"], "The pipeline has no component 'transformer' with weights"),
        (["--attention", "flash9"], "Unknown attention 'flash9'; use sdpa or math."),
        (["--skip-rate", "2"], "--skip-rate must be a number from 0 to 1, not '2'."),
        (["--price", "cheap"], "--price must be a number from 0 to 1e+06, not 'cheap'."),
        (["--layerwise", "int3"], "Layers cannot be stored as 'int3'"),
        (["--json", "--csv"], "--json and --csv exclude each other"),
        (["-o", "times.xls"], "Cannot tell the format of times.xls"),
        (["--profile", str(FILE)], "was counted, not measured, so it says nothing about a machine"),
    ],
)
def test_a_wrong_request_is_one_sentence(arguments: list[str], sentence: str, run: Run) -> None:
    ended = run("predict", str(FILE), *arguments)
    assert ended.code == 2
    assert sentence in ended.err
    assert len(ended.err.strip().splitlines()) == 1
