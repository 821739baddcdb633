"""The active rules: diffprof's own, and those that a program added with `register_rule`."""

from __future__ import annotations

from diffprof.errors import RequestError
from diffprof.findings.caches_and_moves import (
    CACHE_NEVER_HITS,
    CACHE_SELDOM_HITS,
    MOVED_EACH_STEP,
    OFFLOAD_DOMINATES,
)
from diffprof.findings.expectation import SLOWER_THAN_EXPECTED
from diffprof.findings.finding import Finding, FindingText, Rule
from diffprof.findings.kernels import ATTENTION_WRITTEN_OUT, LAUNCH_BOUND
from diffprof.findings.memory_use import FRAGMENTATION, MEMORY_NOT_FREED, VAE_DECODE_MEMORY
from diffprof.findings.prompts import PROMPT_ENCODED_AGAIN
from diffprof.findings.time import DOMINANT_SECTION, SCHEDULER_OVERHEAD
from diffprof.findings.trust import INCOMPLETE_RUN, UNSTABLE_TIMINGS, WARM_UP

RULES = (
    INCOMPLETE_RUN,
    UNSTABLE_TIMINGS,
    SLOWER_THAN_EXPECTED,
    DOMINANT_SECTION,
    PROMPT_ENCODED_AGAIN,
    OFFLOAD_DOMINATES,
    MOVED_EACH_STEP,
    ATTENTION_WRITTEN_OUT,
    LAUNCH_BOUND,
    SCHEDULER_OVERHEAD,
    CACHE_NEVER_HITS,
    CACHE_SELDOM_HITS,
    VAE_DECODE_MEMORY,
    MEMORY_NOT_FREED,
    FRAGMENTATION,
    WARM_UP,
)
"""diffprof's own rules. Findings with the same stake are reported in this order."""

_ADDED: dict[str, Rule] = {}


class RegisteredRule:
    """A rule that is active until `remove` is called, or until the end of a ``with`` block."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def remove(self) -> None:
        """Deactivate the rule; a second call does nothing."""
        if _ADDED.get(self.rule.name) is self.rule:
            del _ADDED[self.rule.name]

    def __enter__(self) -> RegisteredRule:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<rule {self.rule.name}>"


def register_rule(rule: Rule) -> RegisteredRule:
    """Add your own rule to the findings of every run; its `texts` are the text for each of its cases."""
    if not isinstance(rule, Rule):
        raise RequestError(f"register_rule takes a diffprof.findings.Rule, not a {type(rule).__name__}")
    if any(known.name == rule.name for known in rules()):
        raise RequestError(f"there is a rule {rule.name!r} already; give yours another name")
    missing = [case for case in rule.cases if case not in rule.texts]
    if missing or not rule.cases:
        raise RequestError(f"the rule {rule.name!r} needs a text for each of its cases; missing: {missing or 'all'}")
    _ADDED[rule.name] = rule
    return RegisteredRule(rule)


def rules() -> tuple[Rule, ...]:
    """All active rules, diffprof's own first."""
    return (*RULES, *_ADDED.values())


def added_text(finding: Finding) -> FindingText | None:
    """The text for a finding of a registered rule; None for diffprof's own rules, whose text is in render."""
    rule = _ADDED.get(finding.rule)
    return rule.texts.get(finding.case) if rule is not None else None
