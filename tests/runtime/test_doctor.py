"""The doctor makes every check here, on the CPU, and tells what it could not check."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from diffprof.errors import RequestError
from diffprof.record.examination import Verdict
from diffprof.render.examination import PROMISES, examination_text
from diffprof.runtime import doctor, doctor_calls
from diffprof.runtime.doctor import CHECKS, Skipped, examine

NEEDS_A_GPU = {
    "cuda_graphs", "device_times", "rows", "second_device", "untouched", "kept_peak", "sampling", "snapshot",
}  # fmt: skip


CHEAP = NEEDS_A_GPU | {"counts", "freed"}


@pytest.mark.parametrize(
    "names", [CHEAP, pytest.param(CHECKS.keys(), marks=pytest.mark.extensive)], ids=["cheap", "all"]
)
def test_every_promise_holds_here_and_those_about_a_gpu_are_skipped(
    names: Collection[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the tests set for all machines makes it true; to try it takes a process that imports torch.
    monkeypatch.setattr(doctor_calls, "_can_multiply", lambda dtype: True)
    monkeypatch.setattr(doctor, "CHECKS", {name: CHECKS[name] for name in names})
    examination = examine("cpu")
    verdicts = {check.name: check.verdict for check in examination.checks}
    assert verdicts == {name: Verdict.skipped if name in NEEDS_A_GPU else Verdict.ok for name in names}, (
        examination_text(examination)
    )
    assert examination.is_healthy
    assert examination.machine["cuda"]


def test_a_broken_promise_is_told_and_the_other_checks_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(model: object) -> str:
        raise RuntimeError("CUDA error: device-side assert triggered\nwith more lines")

    def skipped(model: object) -> str:
        raise Skipped("there is one device")

    monkeypatch.setattr(doctor, "CHECKS", {"counts": broken, "second_device": skipped, "freed": lambda model: "fine"})
    examination = examine("cpu")
    text = examination_text(examination)
    assert not examination.is_healthy
    assert text.startswith("1 check failed.")
    assert "failed   The counts equal what is executed (RuntimeError: CUDA error: device-side assert" in text
    assert "skipped  A second device" in text and "ok       Memory can be freed" in text


def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(RequestError):
        examine("cuda:7")


def test_every_check_has_its_promise() -> None:
    assert PROMISES.keys() == CHECKS.keys()
