"""Rules that a program adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from diffprof.errors import RequestError
from diffprof.findings import RULES, Finding, FindingText, Rule, Threshold, findings, register_rule, rules
from diffprof.record.measured import Measured
from diffprof.record.profile import Profile
from diffprof.render.findings import finding_lines
from tests.sample_profiles import measured_profile

MANY = Threshold("steps", 1, "for this test")


def many_steps(profile: Profile, measured: Measured) -> Iterator[Finding]:
    steps = max(len(iteration.steps) for iteration in measured.timed_iterations)
    if steps > MANY.value:
        yield Finding("many_steps", "in_one_call", 1.0, {"steps": steps, "wall_seconds": None})


TEXT = FindingText("A call has {steps}.", ("in {wall_seconds}", "counted by this test"), ("Use fewer.",))
RULE = Rule("many_steps", "A call has many steps.", ("in_one_call",), (MANY,), many_steps, {"in_one_call": TEXT})


def test_an_added_rule_has_findings_and_words_until_it_is_removed() -> None:
    profile = measured_profile()
    before = findings(profile)
    with register_rule(RULE) as registered:
        assert rules() == (*RULES, RULE)
        (finding,) = [finding for finding in findings(profile) if finding.rule == "many_steps"]
        lines = finding_lines(finding)
        assert lines.title.startswith("A call has ") and lines.title.endswith("denoising steps.")
        assert (lines.evidence, lines.advice) == ("counted by this test", "Use fewer.")
        assert repr(registered) == "<rule many_steps>"
    assert findings(profile) == before
    assert rules() == RULES
    registered.remove()


def test_removing_a_rule_leaves_a_later_one_of_the_same_name() -> None:
    first = register_rule(RULE)
    first.remove()
    with register_rule(replace(RULE, description="Another one.")) as second:
        first.remove()
        assert rules() == (*RULES, second.rule)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (many_steps, "takes a diffprof.findings.Rule, not a function"),
        (replace(RULE, name="warm_up"), "there is a rule 'warm_up' already"),
        (replace(RULE, texts={}), r"needs a text for each of its cases; missing: \['in_one_call'\]"),
        (replace(RULE, cases=()), "needs a text for each of its cases; missing: all"),
    ],
)
def test_a_rule_that_cannot_be_shown_is_rejected(rule: Rule, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        register_rule(rule)
    assert rules() == RULES
