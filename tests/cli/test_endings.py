"""However a command ends, there is an exit code and at most one sentence."""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path

import pytest

from diffprof.errors import DiffprofError, PipelineError, RequestError
from tests.children import run_child
from tests.cli.conftest import Engine, Run
from tests.sample_profiles import stable_diffusion


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["proflie"], "did you mean profile?"),
        (["nonsense"], "There is no command nonsense"),
        (["--nonsense"], "--nonsense"),
        (["profile"], "MODEL"),
        (["profile", "sdxl", "--height", "tall"], "--height"),
        (["profile", "sdxl", "--by", "nobody"], "--by"),
        (["show"], "FILE"),
        (["cache", "burn"], "burn"),
        (["profile", "sdxl", "--hieght", "512"], "There is no option --hieght; did you mean --height?"),
        (["generate", "a", "cat"], "put a prompt of several words into quotes"),
        (["models", "shw", "sdxl"], "or `show NAME`"),
    ],
)
def test_a_wrong_command_line_is_one_message_and_exit_code_2(arguments: list[str], words: str, run: Run) -> None:
    ended = run(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("diffprof: error: ")
    assert ended.err.count("\n") == 1
    assert words in ended.err


@pytest.mark.parametrize("arguments", [["profile", "nonsense"], ["fit"], ["models"]])
def test_no_command_leaves_the_garbage_collector_off(arguments: list[str], run: Run) -> None:
    run(*arguments)
    assert gc.isenabled()


@pytest.mark.parametrize("given", [None, "3"])
def test_no_command_changes_how_many_threads_numpy_may_have(
    given: str | None, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if given is not None:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", given)
    run("predict", "nonsense")
    assert os.environ.get("OPENBLAS_NUM_THREADS") == given


def test_a_quick_command_starts_no_threads_with_numpy(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str | None] = []
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setattr(
        "diffprof.settings.work_limits.set_work_limits",
        lambda limits: found.append(os.environ.get("OPENBLAS_NUM_THREADS")),
    )
    for command in ("predict", "trace", "models"):
        run(command, "nonsense")
    assert found == ["1", "1", None]


@pytest.mark.parametrize(
    ("failure", "code", "words"),
    [
        (RequestError("That is impossible"), 2, "error: That is impossible.\n"),
        (PipelineError("StableDiffusionPipeline says:\nno"), 1, "StableDiffusionPipeline says: no."),
        (DiffprofError("It failed."), 1, "error: It failed.\n"),
        (ValueError("surprise"), 1, "a bug in diffprof (ValueError: surprise)"),
        (DiffprofError("\x1b[31mred"), 1, "?[31mred"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_a_failure_of_the_engine_is_one_message(
    failure: BaseException, code: int, words: str, run: Run, engine: Engine
) -> None:
    engine.failure = failure
    ended = run("profile", "sdxl")
    assert ended.code == code
    assert ended.out == ""
    assert words in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("place", [0, 2])
def test_debug_shows_the_traceback_wherever_it_stands(place: int, run: Run, engine: Engine) -> None:
    engine.failure = ValueError("surprise")
    arguments = ["profile", "sdxl"]
    arguments.insert(place, "--debug")
    with pytest.raises(ValueError, match="surprise"):
        run(*arguments)


def test_a_closed_pipe_prints_no_error(tmp_path: Path) -> None:
    path = stable_diffusion().save(tmp_path / "p.json")
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        child = run_child("-m", "diffprof", "show", path, "--json", stdout=closed, exit_code=1)
    assert child.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_behind_standard_output_is_one_message(tmp_path: Path) -> None:
    path = stable_diffusion().save(tmp_path / "p.json")
    with Path("/dev/full").open("w") as full:
        child = run_child("-m", "diffprof", "show", path, stdout=full, exit_code=1)
    assert child.stderr.startswith("diffprof: error: Cannot write to standard output: No space left on device")
    assert child.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="closes a stream by its number")
@pytest.mark.parametrize(
    ("arguments", "code", "words"), [((), 1, "standard output: it is closed"), (("-o", "p.csv"), 0, "Wrote p.csv")]
)
def test_a_closed_standard_output_matters_only_to_what_would_go_there(
    arguments: tuple[str, ...], code: int, words: str, tmp_path: Path
) -> None:
    stable_diffusion().save(tmp_path / "p.json")
    child = run_child(
        *("-m", "diffprof", "show", "p.json", *arguments), exit_code=code, cwd=tmp_path, preexec_fn=lambda: os.close(1)
    )
    assert words in child.stderr
    assert child.stderr.count("\n") == 1


WITHOUT_TORCH = """
import json, sys
import diffprof
from diffprof.cli import main

for arguments in json.loads(sys.argv[1]):
    sys.argv = ["diffprof", *arguments]
    if arguments[0] == "load":
        diffprof.load(arguments[1])
    else:
        try:
            main()
        except SystemExit:
            pass
    heavy = {"torch", "diffusers", "transformers", "numpy", "accelerate", "huggingface_hub"} & set(sys.modules)
    assert not heavy, (arguments, heavy)
print("Nothing heavy.")
"""


def test_what_does_not_count_imports_no_torch(tmp_path: Path) -> None:
    file = str(stable_diffusion().save(tmp_path / "p.json"))
    commands = [
        ["--help"], ["--version"], ["models"], ["models", "show", "sdxl"], ["show", file],
        ["show", file, "--depth", "3"], ["show", file, "--csv"], ["cache", "info"], ["load", file],
        ["profile", "no-such-model"], ["profile", "sdxl", "--dtype", "float3"],
    ]  # fmt: skip
    child = run_child("-c", WITHOUT_TORCH, json.dumps(commands))
    assert child.stdout.endswith("Nothing heavy.\n")
