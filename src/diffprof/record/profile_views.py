"""Views of a profile: a file, a dictionary, a table for pandas, a report, a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from diffprof.record.display import Displayed, find_function

if TYPE_CHECKING:
    from diffprof.record.profile import Profile


class ProfileViews(Displayed):
    """Methods of a profile that are implemented in other rooms."""

    def save(self, path: str | Path) -> Path:
        """Write the profile to a file that `diffprof.load` reads; an existing file is replaced atomically."""
        return cast(Path, find_function("diffprof.record.files:save")(self, path))

    def to_dict(self) -> dict[str, Any]:
        """Return the values of the saved file: dictionaries, lists, strings and exact numbers."""
        return cast("dict[str, Any]", find_function("diffprof.record.files:to_json")(self))

    def to_dataframe(self, by: str = "component") -> Any:
        """Return a table for pandas with exact numbers; `by` is as ``--by`` of the command line."""
        return find_function("diffprof.render.exports.tables:profile_dataframe")(self, by)

    def report(self, path: str | Path) -> Path:
        """Write the report, one self-contained HTML page."""
        return cast(Path, find_function("diffprof.comparison.views.report:write_report")(self, path))

    def compare(self, other: Profile) -> Any:
        """Compare this profile with another one: a `diffprof.comparison.Comparison`."""
        return find_function("diffprof.comparison.compare:compare_two")(self, other)
