"""``diffprof show FILE``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof.cli.output import output
from diffprof.render.views import By

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def show(
    profile: Annotated[Path, typer.Argument(metavar="FILE", help="A profile that was saved as .json or .json.gz.")],
    by: Annotated[By | None, typer.Option(help="What the rows of the table are.", show_default=False)] = None,
    depth: Annotated[int | None, typer.Option(min=0, metavar="N", help="Show the module tree to this depth.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the profile as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")] = False,
    file: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to a .json, .json.gz, .csv or .txt file."),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List every assumption.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No messages; errors only.")] = False,
) -> None:
    """Print a saved profile.

    Nothing is counted again, and neither torch nor diffusers is needed.
    """
    result = output(json=json, csv=csv, file=file, by=by, depth=depth, verbose=verbose, quiet=quiet)
    from diffprof.profiles.files import load

    result.write(load(profile))
