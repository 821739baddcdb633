"""The process that one tool counts in: a failure is a result too."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest

from diffprof.crosscheck import worker
from diffprof.crosscheck.tools import CAPTURE


def test_a_missing_tool_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "request.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr(worker.importlib.util, "find_spec", lambda package: None)
    worker.main(tmp_path, "calflops")
    assert json.loads((tmp_path / "calflops.json").read_text(encoding="utf-8")) == {
        "error": "calflops is not installed; `pip install diffprof[crosscheck]` installs it.",
        "exit_code": 1,
    }


def result_of(folder: Path, name: str, **request: object) -> dict[str, object]:
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    worker.main(folder, name)
    return dict(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))


def test_a_wrong_request_keeps_its_message_and_its_exit_code(tmp_path: Path) -> None:
    result = result_of(tmp_path, CAPTURE, model="no-such-model", component=None, arguments={}, limits={})
    assert result["exit_code"] == 2
    assert "no-such-model" in str(result["error"])


def test_any_other_failure_is_the_first_line_of_its_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("this tool\ncannot do that")

    monkeypatch.setattr(worker, "_count", fail)
    assert result_of(tmp_path, "thop") == {"error": "failed: ValueError: this tool", "exit_code": 1}


def test_a_model_is_opened_within_the_limits_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diffprof.crosscheck.one_call.open_pipeline", _never_end)
    result = result_of(tmp_path, CAPTURE, model="m", component=None, arguments={}, limits={"seconds": 0.05})
    assert "m takes more than 0.05 seconds of the processor" in str(result["error"])


def _never_end(*_: object, **__: object) -> None:
    for _number in count():
        pass
