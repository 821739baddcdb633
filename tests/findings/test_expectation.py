"""Runs against what is expected on their accelerator."""

from __future__ import annotations

import pytest

from diffprof.record.measured import Device, Move
from diffprof.render.findings import finding_lines
from tests.findings.problems import findings_of_kind, the_finding
from tests.findings.slow_runs import expected, run_taking, slow_decoder, unfused

RULE = "slower_than_expected"


def test_a_run_as_expected_says_nothing() -> None:
    assert findings_of_kind(run_taking(expected()), RULE) == []


def test_a_slow_component_is_named_with_the_share_that_was_reached() -> None:
    found = the_finding(slow_decoder(), RULE)
    assert (found.case, found.evidence["component"], found.evidence["device"]) == ("component", "vae", "l4")
    assert found.evidence["speed_share"] == pytest.approx(1 / 3, rel=0.01)
    assert finding_lines(found).title.startswith("This ran at 33.4 % of the expected speed on l4")


def test_attention_on_the_math_path_is_named() -> None:
    found = the_finding(unfused(), RULE)
    assert found.case == "attention"
    assert "unet is slow because attention took the math path" in finding_lines(found).title


def test_a_run_that_moved_weights_or_an_unknown_device_says_nothing() -> None:
    slow = {slot: 9 * seconds for slot, seconds in expected().items()}
    assert findings_of_kind(run_taking(slow), RULE)
    assert not findings_of_kind(run_taking(slow, moves=(Move("unet", "host to device", 1, 0, 0),)), RULE)
    assert not findings_of_kind(run_taking(slow, device=Device("Some GPU", "cuda")), RULE)
