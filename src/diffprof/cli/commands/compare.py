"""``diffprof compare A B [C ...]``"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diffprof.cli.options import completion
from diffprof.cli.options.groups import ProfileOptions, expand_groups
from diffprof.cli.output.comparison import ComparisonOptions, write_comparison
from diffprof.cli.output.progress import progress_bar
from diffprof.cli.parsing.optional_values import OptionalValueCommand

if TYPE_CHECKING:
    from diffprof.record.profile import Profile

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command(cls=OptionalValueCommand)
@expand_groups
def compare(
    profiles: Annotated[
        list[str],
        typer.Argument(
            metavar="A B [C...]",
            help="Saved profiles, models, or both; each is compared with the first.",
            autocompletion=completion.model_or_file,
        ),
    ],
    requested: ProfileOptions,
    options: ComparisonOptions,
) -> None:
    """Compare profiles: conditions first, then measurements and counts.

    Saved profiles are read without torch. A model is counted as `diffprof profile` counts it.
    """
    from diffprof.comparison.labels import distinct_labels
    from diffprof.counting.request_profile import count_request
    from diffprof.counting.sources import open_profile
    from diffprof.record.saved_profiles import image_of_profile, saved_file

    options.check(len(profiles))
    request = requested.request("")  # the same for every model: checked before the first is opened

    def count(model: str, changes: Mapping[str, Any]) -> Profile:
        with progress_bar(options.quiet) as progress:
            return count_request(replace(request.with_arguments(changes), model=model), progress=progress)

    write_comparison(
        [open_profile(name, lambda model: count(model, {})) for name in profiles],
        distinct_labels(profiles),
        [image_of_profile(name) for name in profiles],
        options,
        [name if saved_file(name) is None else None for name in profiles],
        count,
    )
