"""The report of the doctor names each promise, its verdict and the machine."""

from __future__ import annotations

from diffprof.record.examination import Check, Examination, Verdict
from diffprof.render.examination import PROMISES, examination_text


def test_each_check_has_a_line_and_the_machine_comes_last() -> None:
    checks = tuple(Check(name, Verdict.ok, "") for name in PROMISES)
    text = examination_text(Examination({"torch": "2.13", "device": "NVIDIA L4 (cuda)"}, checks))
    assert text.startswith("Every promise that could be checked holds here.\n")
    assert [line for line in text.splitlines() if line.startswith("ok ")] == [
        f"ok       {promise}" for promise in PROMISES.values()
    ]
    assert text.endswith("Machine\n    torch: 2.13\n    device: NVIDIA L4 (cuda)\n")
