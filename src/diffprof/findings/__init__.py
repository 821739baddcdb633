"""Rules that look at a measured run and name what stands out, each with its evidence."""

from __future__ import annotations

from diffprof.findings.caches_and_moves import (
    CACHE_NEVER_HITS,
    CACHE_SELDOM_HITS,
    MOVED_EACH_STEP,
    OFFLOAD_DOMINATES,
)
from diffprof.findings.finding import Finding, Rule, Threshold
from diffprof.findings.kernels import ATTENTION_WRITTEN_OUT, LAUNCH_BOUND
from diffprof.findings.memory import FRAGMENTATION, MEMORY_NOT_FREED, VAE_DECODE_MEMORY
from diffprof.findings.prompts import PROMPT_ENCODED_AGAIN
from diffprof.findings.time import DOMINANT_SECTION, SCHEDULER_OVERHEAD
from diffprof.findings.trust import INCOMPLETE_RUN, UNSTABLE_TIMINGS, WARM_UP
from diffprof.record.profile import Profile

__all__ = ["RULES", "Finding", "Rule", "Threshold", "findings"]

RULES = (
    INCOMPLETE_RUN,
    UNSTABLE_TIMINGS,
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
"""All rules. Findings with the same stake are in this order."""


def findings(profile: Profile) -> list[Finding]:
    """What stands out in the measured run, the most important first; nothing for a profile that was only counted."""
    if profile.measured is None:
        return []
    found = [finding for rule in RULES for finding in rule.find(profile, profile.measured)]
    # Nothing is above a doubt about all figures, not even what several threads did at once.
    return sorted(found, key=lambda finding: -min(finding.stake, 1.0))
