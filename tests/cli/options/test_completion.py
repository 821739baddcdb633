"""What a shell can complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.cli import main
from diffprof.cli.options.completion import accelerator_names, limit_names, model_names, model_or_file


def test_models_accelerators_and_metrics_are_completed_from_their_lists() -> None:
    assert "sdxl" in model_names("sdx")
    assert model_names("no-such") == []
    assert "h100-sxm" in accelerator_names("h100")
    assert all(name.startswith("a100-sxm-80gb,h1") for name in accelerator_names("a100-sxm-80gb,h1"))
    assert {"macs=", "time="} <= set(limit_names(""))
    assert limit_names("macs=+0%,pea") == ["macs=+0%,peak_memory="]


def test_where_a_profile_may_stand_files_are_completed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sdxl-before.json").touch()
    (tmp_path / "sdxl.png").touch()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one.json.gz").touch()
    assert {"sdxl", "sdxl-turbo", "sdxl-before.json"} <= set(model_or_file("sdxl"))
    assert "sdxl.png" not in model_or_file("sdxl")
    assert model_or_file("run") == ["runs/"]
    assert model_or_file("runs/") == ["runs/one.json.gz"]
    assert model_or_file("missing/") == []


@pytest.mark.parametrize(
    ("line", "offered"), [("profile flux.1-de", "flux.1-dev"), ("predict sdxl --gpu h100", "h100-sxm"), ("fi", "fit")]
)
def test_a_shell_that_asks_is_answered(
    line: str, offered: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["diffprof"])
    monkeypatch.setenv("_DIFFPROF_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"diffprof {line}")
    monkeypatch.setenv("COMP_CWORD", str(len(line.split())))
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert offered in capsys.readouterr().out.split()
