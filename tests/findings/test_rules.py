"""The rules as a whole: each has a problem that it finds, a healthy run in which it is silent, words and a page."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from diffprof.findings import RULES, Rule, findings
from diffprof.record.measured import Measured
from diffprof.record.profile import Profile
from diffprof.render.finding_words import WORDS
from diffprof.render.findings import finding_lines, format_evidence
from tests.findings.problems import PROBLEMS, findings_of_kind, the_finding
from tests.record.strategies import profiles
from tests.sample_iterations import CPU, GPU, Device
from tests.sample_profiles import hostile, measured_profile, nothing, stable_diffusion

PAGE = Path(__file__).parents[2] / "docs" / "findings.md"
CASES = [(rule.name, case) for rule in RULES for case in rule.cases]


def test_every_case_of_every_rule_has_a_problem_and_words() -> None:
    assert sorted(PROBLEMS) == sorted(CASES)
    assert sorted(WORDS) == sorted(CASES)
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_a_rule_finds_its_problem(rule: str, case: str) -> None:
    assert [finding.case for finding in findings_of_kind(PROBLEMS[rule, case](), rule)] == [case]


@pytest.mark.parametrize("device", [CPU, GPU], ids=lambda device: device.kind)
def test_a_healthy_run_only_has_something_that_takes_most_of_the_time(device: Device) -> None:
    assert [finding.rule for finding in findings(measured_profile(device=device))] == ["dominant_section"]


@pytest.mark.parametrize("profile", [stable_diffusion(), nothing(), hostile()], ids=["whole", "nothing", "hostile"])
def test_what_was_only_counted_has_no_findings(profile: Profile) -> None:
    assert findings(profile) == []


def test_a_measurement_in_which_nothing_ran_has_no_findings() -> None:
    assert findings(replace(nothing(), measured=Measured(CPU, ()))) == []


@pytest.mark.parametrize("problem", CASES, ids=lambda problem: "/".join(problem))
def test_findings_are_sorted_by_what_is_at_stake(problem: tuple[str, str]) -> None:
    stakes = [finding.stake for finding in findings(PROBLEMS[problem]())]
    assert stakes == sorted(stakes, reverse=True)
    assert all(0 <= stake <= 1 for stake in stakes)


def test_findings_about_trust_come_first() -> None:
    profile = PROBLEMS["unstable_timings", "iterations"]()
    assert [finding.rule for finding in findings(profile)] == ["unstable_timings", "dominant_section"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_page_has_a_section_for_each_rule_with_its_thresholds_and_an_example(rule: Rule) -> None:
    section = _sections()[rule.name]
    assert rule.description in section
    assert finding_lines(the_finding(PROBLEMS[rule.name, rule.cases[0]](), rule.name)).title in section
    for threshold in rule.thresholds:
        assert f"`{threshold.name}` {format_evidence(threshold.name, threshold.value)}: {threshold.reason}" in section


def test_the_page_has_no_other_rules() -> None:
    assert list(_sections()) == [rule.name for rule in RULES]


def _sections() -> dict[str, str]:
    """The text of the page below each heading that is the name of a rule."""
    parts = re.split(r"^## `(\w+)`\n", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]
    return dict(zip(parts[::2], (text.replace("\n", " ") for text in parts[1::2]), strict=True))


@given(profiles())
def test_the_findings_of_any_profile_can_be_rendered(profile: Profile) -> None:
    for finding in findings(profile):
        assert all("\n" not in text for text in finding_lines(finding))
