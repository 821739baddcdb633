"""The report of the doctor names each promise, its verdict and the machine."""

from __future__ import annotations

import json

from diffprof.record.examination import Check, Examination, Verdict
from diffprof.render.examination import (
    PROMISES,
    examination_csv,
    examination_json,
    examination_markdown,
    examination_text,
)


def test_each_check_has_a_line_and_the_machine_comes_last() -> None:
    checks = tuple(Check(name, Verdict.ok, "") for name in PROMISES)
    text = examination_text(Examination({"torch": "2.13", "device": "NVIDIA L4 (cuda)"}, checks))
    assert text.startswith("Every check that could be made passed.\n")
    assert [line for line in text.splitlines() if line.startswith("ok ")] == [
        f"ok       {promise}" for promise in PROMISES.values()
    ]
    assert text.endswith("Machine\n    torch: 2.13\n    device: NVIDIA L4 (cuda)\n")


def test_programs_and_issues_get_the_same() -> None:
    examination = Examination({"torch": "2.13"}, (Check("counts", Verdict.failed, "7 MACs"),))
    promise = "The counts equal what is executed"
    row = {"check": "counts", "verdict": "failed", "promise": promise, "detail": "7 MACs"}
    assert json.loads(examination_json(examination)) == {"machine": {"torch": "2.13"}, "checks": [row]}
    assert examination_csv(examination).splitlines() == [",".join(row), ",".join(row.values())]
    text = examination_markdown(examination)
    assert "1 check failed" in text
    assert f"| failed | {promise} | 7 MACs |" in text
