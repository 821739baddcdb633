"""``diffprof show FILE``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof.cli.option_groups import OutputOptions, expand_groups
from diffprof.cli.output import SavedTable, write_saved

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@expand_groups
def show(
    profile: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A saved profile, .json or .json.gz, or the folder of `diffprof run`."),
    ],
    output: OutputOptions,
    by: Annotated[SavedTable | None, typer.Option(help="What the rows of the table are.", show_default=False)] = None,
) -> None:
    """Print a saved profile.

    For a measured run, prints everything, or the table given with --by. Nothing is counted or measured again, and
    neither torch nor diffusers is needed.
    """
    from diffprof.cli.saved_profile import load_named

    write_saved(lambda: load_named(profile), str(profile), by, output)
