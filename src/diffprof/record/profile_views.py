"""What a profile can become: a file, a dictionary, a table for pandas, a report, one side of a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from diffprof.record.display import Displayed, find_function

if TYPE_CHECKING:
    from diffprof.record.profile import Profile


class ProfileViews(Displayed):
    """Methods of a profile that other rooms do the work of."""

    def save(self, path: str | Path) -> Path:
        """Write the profile to a file that `diffprof.load` reads; an existing file is replaced atomically."""
        return cast(Path, find_function("diffprof.record.files:save")(self, path))

    def to_dict(self) -> dict[str, Any]:
        """The values of the saved file: dictionaries, lists, texts and exact numbers."""
        return cast("dict[str, Any]", find_function("diffprof.record.files:to_json")(self))

    def to_dataframe(self, by: str = "component") -> Any:
        """A table of the profile for pandas, as ``--by`` of the command line names it, with exact numbers."""
        return find_function("diffprof.render.exports.tables:profile_dataframe")(self, by)

    def report(self, path: str | Path) -> Path:
        """Write the report, one self-contained HTML page."""
        return cast(Path, find_function("diffprof.comparison.views.report:write_report")(self, path))

    def compare(self, other: Profile) -> Any:
        """What changed from this profile to the other: a `diffprof.comparison.Comparison`."""
        return find_function("diffprof.comparison.compare:compare_two")(self, other)
