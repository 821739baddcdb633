"""Warnings about the numbers of a profile, shown next to them in every view."""

from __future__ import annotations

from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.headline import describe_macs_range, size_changes
from diffprof.render.run_sentences import measurement_notes


def profile_warnings(profile: Profile) -> list[str]:
    """Warnings about sizes that the pipeline changed, operations without a formula, and limits of the measurement."""
    return [
        *size_changes(profile),
        *_unknown_operations(profile),
        *([f"MACs {describe_macs_range(profile.macs_range)}"] if profile.macs_range else []),
        *(measurement_notes(profile.measured) if profile.measured else []),
    ]


def _unknown_operations(profile: Profile) -> list[str]:
    unknown = profile.ledger.unknown
    if not unknown:
        return []
    names = ", ".join(f"{name} ({numbers.exact(count)}x)" for name, count in unknown.items())
    return [f"operations without a formula are not in the counts: {names}"]
