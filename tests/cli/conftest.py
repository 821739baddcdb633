"""Run the command line in this process, with an engine that counts nothing."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from PIL import Image

from diffprof.cli import main
from diffprof.laws import law_file
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from tests.sample_profiles import stable_diffusion


@dataclass(frozen=True)
class Ended:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("profile", "sdxl")`` is ``diffprof profile sdxl``."""
    monkeypatch.setenv("COLUMNS", "100")

    def run_it(*arguments: str) -> Ended:
        code = exit_code_of(*arguments)
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return run_it


def run_alone(*arguments: str) -> Ended:
    """``diffprof ARGUMENTS`` for a fixture that many tests share."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), mock.patch.dict(os.environ, COLUMNS="100"):
        code = exit_code_of(*arguments)
    return Ended(code, out.getvalue(), err.getvalue())


def exit_code_of(*arguments: str) -> int:
    with mock.patch.object(sys, "argv", ["diffprof", *arguments]):
        try:
            return main()
        except SystemExit as ended:
            return int(ended.code or 0)


@dataclass
class Engine:
    """Replaces the engine: records the requests and returns a profile written by hand, or raises."""

    requests: list[Request] = field(default_factory=list)
    failure: BaseException | None = None

    def profile_model(self, request: Request, progress: Any) -> Profile:
        self.requests.append(request)
        if self.failure is not None:
            raise self.failure
        return stable_diffusion()

    @property
    def request(self) -> Request:
        return self.requests[-1]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    stand_in = Engine()
    module = ModuleType("diffprof.counting.profile")
    module.profile_model = stand_in.profile_model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "diffprof.counting.profile", module)
    monkeypatch.setattr(law_file, "FOLDER", Path("no laws"))
    return stand_in


def kept_ids(run: Run, *arguments: str) -> list[int]:
    """The ids that ``diffprof history list`` prints with these options."""
    return [one["id"] for one in json.loads(run("history", "list", "--json", *arguments).out)["runs"]]


def image_bytes(colour: str) -> bytes:
    """A small PNG of one colour."""

    out = io.BytesIO()
    Image.new("RGB", (32, 32), colour).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    """Thirty steps and twenty."""
    before = stable_diffusion().save(tmp_path / "before.json")
    after = stable_diffusion(steps=20, unet_calls=21).save(tmp_path / "after.json.gz")
    return str(before), str(after)
