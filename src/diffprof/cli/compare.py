"""``diffprof compare A B [C ...]``"""

from __future__ import annotations

from typing import Annotated

import typer

from diffprof.cli.comparing import ComparisonOptions, write_comparison
from diffprof.cli.option_groups import CallOptions, expand_groups

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@expand_groups
def compare(
    profiles: Annotated[
        list[str],
        typer.Argument(metavar="A B [C...]", help="Saved profiles, models, or both; each is compared with the first."),
    ],
    requested: CallOptions,
    options: ComparisonOptions,
) -> None:
    """Show what differs between profiles: conditions first, then counts, then measurements.

    Saved profiles are read without torch. A model is counted as `diffprof profile` counts it.
    """
    write_comparison(profiles, requested, options)
