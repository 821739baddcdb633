"""Standard output: as wide as the terminal, plain text elsewhere."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from diffprof.cli.output.terminal import print_written, write_rendered, write_text
from diffprof.render.profile_console import profile_text
from tests.cli.conftest import Run
from tests.sample_profiles import stable_diffusion


@pytest.fixture
def saved(tmp_path: Path) -> str:
    return str(stable_diffusion().save(tmp_path / "p.json.gz"))


def test_without_a_terminal_lines_are_120_wide(saved: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")
    assert run("show", saved).out == profile_text(stable_diffusion(), 120)


def test_characters_that_standard_output_cannot_encode_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="")
    monkeypatch.setattr(sys, "stdout", out)
    write_text("QKᵀ\n")
    out.flush()
    assert out.buffer.getvalue() == b"QK\\u1d40\n"  # type: ignore[attr-defined]


def test_lines_in_a_file_have_no_spaces_at_their_ends(capsys: pytest.CaptureFixture[str]) -> None:
    write_rendered(lambda console: console.print("left   \n  right", end=""))
    assert capsys.readouterr().out == "left\n  right\n"


def test_what_was_written_is_named_on_standard_error_unless_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    print_written("a.json")
    print_written("b.json", quiet=True)
    assert capsys.readouterr() == ("", "Wrote a.json\n")
