"""Rules that look at a measured run and name what stands out, each with its evidence."""

from __future__ import annotations

from diffprof.findings.finding import Finding, FindingText, Rule, Threshold
from diffprof.findings.registry import RULES, RegisteredRule, register_rule, rules
from diffprof.record.profile import Profile

__all__ = [
    "RULES",
    "Finding",
    "FindingText",
    "RegisteredRule",
    "Rule",
    "Threshold",
    "findings",
    "register_rule",
    "rules",
]


def findings(profile: Profile) -> list[Finding]:
    """What stands out in the measured run, the most important first; nothing for a profile that was only counted."""
    if profile.measured is None:
        return []
    found = [finding for rule in rules() for finding in rule.find(profile, profile.measured)]
    # Nothing ranks above a doubt about all numbers, not even the work of several threads at once.
    return sorted(found, key=lambda finding: -min(finding.stake, 1.0))
