"""``diffprof profile`` asks the engine for what the options say, once, and writes what was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.record import cache
from diffprof.record.request import Request
from tests.cli.conftest import Engine, Run


def test_without_options_the_pipelines_own_defaults_hold(run: Run, engine: Engine) -> None:
    ended = run("profile", "sdxl")
    assert ended.code == 0
    assert engine.request == Request("sdxl")


def test_options_become_call_arguments(run: Run, engine: Engine) -> None:
    run(
        *("profile", "sdxl", "--height", "512", "--width", "768", "--steps", "30", "--guidance", "7.5"),
        *("--batch", "2", "--frames", "16", "--dtype", "bfloat16", "--scheduler", "DDIMScheduler"),
        *("--enable", "freeu", "--enable", "vae_tiling", "--set", "eta=0.5", "--set", "prompt=a cat"),
    )
    arguments = {
        "height": 512,
        "width": 768,
        "num_inference_steps": 30,
        "guidance_scale": 7.5,
        "num_images_per_prompt": 2,
        "num_frames": 16,
        "eta": 0.5,
        "prompt": "a cat",
    }
    assert engine.request == Request(
        "sdxl", arguments, dtype="bfloat16", scheduler="DDIMScheduler", enable=("freeu", "vae_tiling")
    )


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("x=5", 5),
        ("x=0.5", 0.5),
        ("x=true", True),
        ("x=False", False),
        ("x=None", None),
        ("x=null", None),
        ("x=[1, 2]", [1, 2]),
        ('x={"a": [true]}', {"a": [True]}),
        ('x="5"', "5"),
        ("x=a cat", "a cat"),
        ("x=", ""),
        ("x=a=b", "a=b"),
        ("x=(512,512)", [512, 512]),
        ("x=(512,)", [512]),
        ('x="(a cat:1.2)"', "(a cat:1.2)"),
    ],
)
def test_set_takes_json_or_else_the_text_itself(typed: str, value: object, run: Run, engine: Engine) -> None:
    assert run("profile", "sdxl", "--set", typed, "--no-cache").code == 0
    assert engine.request.arguments["x"] == value
    assert type(engine.request.arguments["x"]) is type(value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--height", "0"], "--height must be a whole number from 1 to 16,384, not 0"),
        (["--width", "-8"], "--width must be a whole number from 1 to 16,384, not -8"),
        (["--height", "100001"], "--height"),
        (["--steps", "0"], "--steps must be a whole number from 1"),
        (["--batch", "0"], "--batch"),
        (["--frames", "-1"], "--frames"),
        (["--guidance", "nan"], "--guidance must be a number, not nan"),
        (["--guidance", "inf"], "--guidance"),
        (["--set", "height=0"], "--height"),
        (["--set", "height=8.5"], "whole number"),
        (["--set", "height=tall"], "whole number"),
        (["--set", "x=NaN"], "finite"),
        (["--set", "x=[1"], "--set x does not read as a list: [1;"),
        (["--set", "x={a"], "does not read as a list"),
        (["--set", "x=(a cat:1.2)"], "double quotes"),
        (["--set", "x=" + "[" * 100_000], "[...;"),
        (["--steps", "abc"], "error: --steps must be a whole number from 1 to 100,000, not 'abc'.\n"),
        (["--guidance", "much"], "--guidance must be a number, not 'much'"),
        (["--depth", "deep"], "--depth must be a whole number from 0 to 1,000, not 'deep'"),
        (["--dtype", "float3"], "Unknown dtype 'float3'; use float32, float16 or bfloat16."),
        (["--by", "foo"], "'--by': 'foo' is not one of"),
        (["--set", "x"], "KEY=VALUE"),
        (["--set", "=5"], "KEY=VALUE"),
        (["--set", "a b=5"], "KEY=VALUE"),
        (["--set", "dtype=float16"], "dtype is not a call argument"),
        (["--height", "8", "--set", "height=8"], "given twice"),
        (["--set", "x=1", "--set", "x=2"], "given twice"),
        (["--json", "--csv"], "exclude each other"),
        (["--depth", "2", "--by", "kind"], "--depth is for --by module"),
        (["--depth", "-1"], "--depth"),
        (["-o", "p.xyz"], "ending"),
        (["-o", "p"], "ending"),
        (["--json", "-o", "p.csv"], "contradict"),
    ],
)
def test_a_wrong_request_is_rejected_before_anything_is_counted(
    arguments: list[str], words: str, run: Run, engine: Engine
) -> None:
    ended = run("profile", "sdxl", *arguments)
    assert ended.code == 2
    assert words in ended.err
    assert ended.err.count("\n") == 1
    assert engine.requests == []


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("sdlx", "did you mean sdxl"),
        ("qqqqqqqqqqq", "`diffprof models` lists"),
        ("./no/such/folder", "There is no folder ./no/such/folder"),
        ("/no/such", "There is no folder"),
        ("~nobody-of-that-name/x", "There is no folder"),
        ("", "Unknown model"),
    ],
)
def test_an_unknown_model_is_rejected_before_the_engine_is_imported(
    model: str, words: str, run: Run, engine: Engine
) -> None:
    ended = run("profile", model)
    assert (ended.code, engine.requests) == (2, [])
    assert words in ended.err


def test_the_same_request_is_counted_once(run: Run, engine: Engine) -> None:
    first, again = run("profile", "sdxl", "--height", "512"), run("profile", "SDXL".lower(), "--height", "512")
    assert first == again
    assert len(engine.requests) == 1
    run("profile", "sdxl", "--height", "768")
    assert len(engine.requests) == 2
    run("profile", "sdxl", "--height", "512", "--no-cache")
    assert len(engine.requests) == 3


@pytest.mark.parametrize("name", ["SD-2.1-Base", "stabilityai/stable-diffusion-2-1-base"])
def test_all_names_of_a_model_are_one_request(name: str, run: Run, engine: Engine) -> None:
    run("profile", "sd-2.1-base", "--dtype", "float16")
    run("profile", name, "--dtype", "FP16")
    assert len(engine.requests) == 1


def test_no_cache_neither_reads_nor_writes(run: Run, engine: Engine) -> None:
    run("profile", "sdxl", "--no-cache")
    assert cache.info().entries == 0


def test_a_failure_is_not_kept(run: Run, engine: Engine) -> None:
    engine.failure = ValueError("surprise")
    run("profile", "sdxl")
    assert cache.info().entries == 0


def test_a_folder_is_counted_again_when_a_file_in_it_changes(run: Run, engine: Engine, tmp_path: Path) -> None:
    index = tmp_path / "model" / "model_index.json"
    index.parent.mkdir()
    index.write_text("{}")
    for _ in range(2):
        run("profile", str(index.parent))
    assert len(engine.requests) == 1
    index.write_text('{"a": 1}')
    run("profile", str(index.parent))
    assert len(engine.requests) == 2


def test_a_hub_id_is_kept_by_the_files_that_were_fetched(
    run: Run, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    run("profile", "someone/something")
    run("profile", "someone/something")
    assert len(engine.requests) == 2, "nothing is known about its content, so nothing is kept"
    repository = tmp_path / "models--someone--something"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc")
    (repository / "snapshots" / "abc").mkdir(parents=True)
    (repository / "snapshots" / "abc" / "model_index.json").write_text("{}")
    run("profile", "someone/something")
    run("profile", "someone/something")
    assert len(engine.requests) == 3
