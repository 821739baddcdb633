"""The HTML report of one profile, or the comparison of several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from diffprof.comparison.compare import compare
from diffprof.comparison.views.page import comparison_html
from diffprof.record.atomic_files import replace_file
from diffprof.record.profile import Profile
from diffprof.render.report.profile_page import profile_html


def report_html(profiles: Sequence[Profile], names: Sequence[str], images: Sequence[Path | None] = ()) -> str:
    """The page of one profile or of the comparison of several, with the generated images."""
    if len(profiles) == 1:
        return profile_html(profiles[0], images[0] if images else None)
    return comparison_html(compare(profiles, names, images))


def write_report(profile: Profile, path: str | Path) -> Path:
    """Write the page of one profile; an existing file is replaced."""
    return replace_file(path, profile_html(profile).encode())
