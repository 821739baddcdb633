"""A profile on the console: one table, then the totals, then the assumptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffprof.record.profile import DRY_RUN, LAW, Profile
from diffprof.render.clean import clean
from diffprof.render.columns import print_table
from diffprof.render.console import print_labelled, render_text
from diffprof.render.headline import composition, headline, summary, versions
from diffprof.render.profile_tables import fit_profile_table
from diffprof.render.table_names import DEFAULT_DEPTH, ProfileTable

if TYPE_CHECKING:
    from rich.console import Console


COUNTED = {
    LAW: "by the law of the model, proved to give the counts of a dry run; use --count for a dry run",
    DRY_RUN: "by a dry run of the pipeline",
}


def print_profile(
    profile: Profile,
    console: Console,
    by: ProfileTable = ProfileTable.component,
    depth: int = DEFAULT_DEPTH,
    verbose: bool = False,
) -> None:
    """Print one table of the profile, with the totals below it."""
    from rich.text import Text

    view = fit_profile_table(profile, by, depth, console.width, console.options.ascii_only, verbose)
    console.print(Text(clean(headline(profile)), style="bold"))
    console.print(Text(clean(composition(profile)), style="dim"))
    console.print()
    if view.columns[0].cells:
        print_table(view, console, total=by is ProfileTable.component)
    else:
        console.print(Text(f"There is nothing to show by {by.value}."))
    console.print()
    for label, line in summary(profile, verbose):
        print_labelled(console, label, line)
    if verbose:
        print_labelled(console, "Versions", versions(profile))
        print_labelled(console, "Counted", COUNTED.get(profile.counted_by, clean(profile.counted_by)))


def profile_text(
    profile: Profile,
    width: int = 100,
    by: ProfileTable = ProfileTable.component,
    depth: int = DEFAULT_DEPTH,
    verbose: bool = False,
    encoding: str = "utf-8",
) -> str:
    """A profile as plain text, using only characters that `encoding` has."""
    return render_text(lambda console: print_profile(profile, console, by, depth, verbose), width, encoding)
