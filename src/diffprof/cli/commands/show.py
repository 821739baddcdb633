"""``diffprof show FILE``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof.cli.options.groups import OutputOptions, expand_groups
from diffprof.cli.output.profile import SavedTable, write_saved
from diffprof.errors import FileFormatError, RequestError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@expand_groups
def show(
    profile: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A saved profile, .json or .json.gz, the folder of `diffprof run`, or a saved answer of fit, predict "
            "or advise.",
        ),
    ],
    output: OutputOptions,
    by: Annotated[SavedTable | None, typer.Option(help="What the rows of the table are.", show_default=False)] = None,
) -> None:
    """Print a saved profile, or a saved answer of fit, predict or advise.

    For a measured run, prints everything, or the table given with --by. Nothing is counted or measured again, and
    neither torch nor diffusers is needed.
    """
    from diffprof.cli.sources import load_saved_profile

    try:
        loaded = load_saved_profile(profile)
    except FileFormatError as error:
        if not error.answer_of:
            raise
        _show_answer(error.answer_of, profile, by, output)
    else:
        write_saved(lambda: loaded, str(profile), by, output)


def _show_answer(command: str, file: Path, by: SavedTable | None, output: OutputOptions) -> None:
    from diffprof.cli.output.answer import PageOptions
    from diffprof.cli.output.predictions import saved_answer

    if by is not None or output.depth is not None:
        raise RequestError(f"{file} is a result of `diffprof {command}`; --by and --depth are for profiles.")
    options = PageOptions(output.json, output.csv, output.markdown, output.file, output.quiet)
    options.check()
    options.write(saved_answer(command, file, output.verbose))
