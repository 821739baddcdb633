"""``diffprof card MODEL``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof.cli.options import declarations as options
from diffprof.cli.options.groups import ProfileOptions, expand_groups
from diffprof.cli.output.progress import progress_bar
from diffprof.cli.output.terminal import print_written, write_text
from diffprof.cli.parsing.optional_values import OptionalValueCommand
from diffprof.errors import RequestError
from diffprof.record.atomic_files import check_writable, replace_file

ENDING = ".md"

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command(cls=OptionalValueCommand)
@expand_groups
def card(
    model: options.Model,
    requested: ProfileOptions,
    file: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.md", help="Write to a file instead of printing.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Print a Markdown table for a model card: what one generation costs.

    MODEL may also be a saved profile: a measured one adds its time and memory.
    """
    from diffprof.counting.request_profile import count_request
    from diffprof.counting.sources import open_profile
    from diffprof.record.profile import Profile
    from diffprof.render.card import model_card

    if file is not None:
        if file.suffix.lower() != ENDING:
            raise RequestError(f"A card is Markdown; name it {file.with_suffix(ENDING)}, not {file}.")
        check_writable(file)
    request = requested.request

    def count(name: str) -> Profile:
        with progress_bar(quiet) as progress:
            return count_request(request(name), progress=progress)

    text = model_card(open_profile(model, count))
    if file is None:
        write_text(text)
    else:
        replace_file(file, text.encode())
        print_written(file, quiet)
