"""Findings: rules that look for problems in a measured run, and report each with its evidence."""

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
    """Apply all rules to a measured run; the most important findings come first. Empty if nothing was measured."""
    if profile.measured is None:
        return []
    found = [finding for rule in rules() for finding in rule.find(profile, profile.measured)]
    # A stake of 1 puts all numbers in doubt and ranks first; with several threads, shares can add up to more.
    return sorted(found, key=lambda finding: -min(finding.stake, 1.0))
