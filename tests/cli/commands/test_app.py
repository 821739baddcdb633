"""``diffprof app``: how the page is started, and when it is not."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from diffprof.app import static_site
from diffprof.app.setup import Setup
from diffprof.settings.work_limits import COMMAND_LINE, work_limits
from tests.cli.conftest import Run


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Setup]:
    """How pages were started that nobody serves."""
    setups: list[Setup] = []
    monkeypatch.setattr("diffprof.app.serve", setups.append)
    return setups


def test_by_default_it_is_for_this_machine_and_measures(run: Run, started: list[Setup]) -> None:
    assert run("app").code == 0
    assert started == [Setup("127.0.0.1", 7860, allow_paths=False, profiling=True, profiling_iterations=0)]


def test_a_model_that_takes_too_long_is_refused_and_does_not_end_the_page(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = []
    monkeypatch.setattr("diffprof.app.serve", lambda setup: limits.append(work_limits()))
    assert run("app").code == 0
    assert (limits[0].seconds, limits[0].ends_process) == (COMMAND_LINE.seconds, False)


def test_the_options_of_the_guides_are_known(run: Run, started: list[Setup], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_ENABLE_COMPUTE_PROFILING", "0")
    run("app")
    run("app", "--enable-profiling", "--profiling-iterations", "3", "--host", "::1", "--port", "0", "--allow-paths")
    assert [setup.profiling for setup in started] == [False, True]
    assert started[1] == Setup("::1", 0, allow_paths=True, profiling=True, profiling_iterations=3)


@pytest.mark.parametrize("name", [None, "somebody-diffprof.hf.space"])
def test_the_space_in_the_examples_answers_under_its_own_name_in_the_frame_of_the_hub(
    name: str | None, run: Run, started: list[Setup], tmp_path: Path
) -> None:
    file = Path(__file__).parents[3] / "examples" / "space" / "Dockerfile"
    (line,) = [line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("CMD ")]
    stub = tmp_path / "diffprof"
    stub.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    stub.chmod(0o755)
    variables = {"PATH": f"{tmp_path}:/usr/bin:/bin", **({"SPACE_HOST": name} if name else {})}
    shown = subprocess.run(
        json.loads(line.removeprefix("CMD ")), env=variables, capture_output=True, text=True, check=True
    )
    assert run(*shown.stdout.split()).code == 0
    hosts = (name,) if name else ()
    assert started == [Setup("0.0.0.0", 7860, allowed_hosts=hosts, framing_sites=("huggingface.co",))]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--port", "70000"), "--port must be a whole number from 0 to 65,535, not 70000."),
        (("--port", "web"), "Invalid value for '--port'"),
        (("--profiling-iterations", "-1"), "--profiling-iterations must be a whole number from 0 to 1,000, not -1."),
        (("--port", "0", "--allow-frame", "https://a.b"), "--allow-frame takes the name of a site, such as"),
        (("--host", "256.0.0.1", "--port", "0"), "Cannot listen on 256.0.0.1, port 0"),
    ],
)
def test_invalid_options_are_rejected(run: Run, options: tuple[str, ...], said: str) -> None:
    ended = run("app", *options)
    assert ended.code == 2
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_a_port_that_is_taken_is_reported_first(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run("app", "--port", str(taken.getsockname()[1]))
    assert ended.code == 2
    assert "choose another with --port" in ended.err


def test_without_gradio_it_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gradio", None)
    ended = run("app", "--port", "0")
    assert ended.code == 2
    assert "pip install 'diffprof[app]'" in ended.err


def test_it_serves_until_it_is_interrupted() -> None:
    page = subprocess.Popen([sys.executable, "-m", "diffprof", "app", "--port", "0"], stderr=subprocess.PIPE, text=True)
    try:
        assert page.stderr is not None
        first_line = page.stderr.readline()
        if " at http" not in first_line:
            page.kill()
            pytest.fail(first_line + page.stderr.read())
        address = first_line.split(" at ")[1].split()[0]
        with urllib.request.urlopen(address, timeout=600) as answer:
            assert "diffprof" in answer.read().decode()
        # As a page that is still open: an answer that does not end.
        with urllib.request.urlopen(f"{address}/gradio_api/heartbeat/somebody", timeout=600):
            page.send_signal(2)
            assert page.wait(60) == 0, "that is how a server ends"
        assert page.stderr.read() == ""
    finally:
        page.kill()
        page.wait()


def test_the_calculator_is_written_as_plain_files(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_site, "_models_with_laws", lambda: ["sd-2.1-base"])  # all of them: docs/calculator.md
    ended = run("app", "--static", "-o", str(tmp_path / "site"))
    assert ended.code == 0
    assert ended.err.startswith(f"Wrote {tmp_path / 'site'} with the laws of")
    assert {"index.html", "site.json", "law.js"} <= {file.name for file in (tmp_path / "site").iterdir()}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [(("--static",), "--static needs a folder"), (("-o", "site"), "add --static")],
)
def test_half_of_the_options_of_the_calculator_is_refused(run: Run, options: tuple[str, ...], sentence: str) -> None:
    ended = run("app", *options)
    assert ended.code == 2
    assert sentence in ended.err
