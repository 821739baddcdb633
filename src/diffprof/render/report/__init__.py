"""Profiles as one page that can be sent to a colleague: nothing else is needed to read it."""

from __future__ import annotations

from collections.abc import Sequence

from diffprof.profiles.record import Profile
from diffprof.render.report.comparison import comparison_html
from diffprof.render.report.single import profile_html

__all__ = ["comparison_html", "profile_html", "report_html"]


def report_html(profiles: Sequence[Profile], names: Sequence[str]) -> str:
    """The page of a profile, or of several side by side; `names` is what each of them is called there."""
    if len(profiles) == 1:
        return profile_html(profiles[0])
    from diffprof.analyse.comparison import compare

    return comparison_html(compare(profiles, names))
