"""``diffprof doctor`` prints a report, and ends with 1 if a promise is broken."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from diffprof.cli.commands.doctor import app
from diffprof.record.examination import Check, Examination, Verdict


@pytest.mark.parametrize(("verdict", "code"), [(Verdict.ok, 0), (Verdict.skipped, 0), (Verdict.failed, 1)])
def test_the_exit_code_says_whether_all_promises_hold(
    verdict: Verdict, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Examination({"torch": "2.13"}, (Check("counts", verdict, "7 MACs"),))
    monkeypatch.setattr("diffprof.runtime.doctor.examine", lambda device, progress: found)
    result = CliRunner().invoke(app, ["--quiet"])
    assert result.exit_code == code
    assert f"{verdict.value:<8} The counts equal what is executed (7 MACs)" in result.output
    assert "torch: 2.13" in result.output
