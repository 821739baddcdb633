"""``diffprof scale MODEL``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof.cli import options
from diffprof.cli.option_groups import CallOptions, expand_groups
from diffprof.cli.output import check_formats
from diffprof.cli.progress import progress_bar
from diffprof.cli.terminal import write_text
from diffprof.errors import RequestError
from diffprof.record.atomic_files import check_writable, replace_file

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

ENDINGS = (".json", ".csv", ".txt", ".html")


@app.command()
@expand_groups
def scale(
    model: options.Model,
    requested: CallOptions,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print the curve as CSV.")] = False,
    file: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to a .json, .csv, .txt or .html file.")
    ] = None,
) -> None:
    """Say how the cost of a model grows with size, steps, images and frames.

    The exact law of the model is shown as a formula, in words and as a curve over square sizes. A model without a law,
    such as one in a folder, is counted at a few sizes. docs/scaling.md says how laws are found and proved.
    """
    from diffprof.advice.scale import scale_model
    from diffprof.advice.views.scale_views import scale_csv, scale_json, scale_text

    check_formats(json, csv)
    if file is not None:
        if file.suffix not in ENDINGS:
            raise RequestError(f"Cannot tell the format of {file}; use one of {', '.join(ENDINGS)}.")
        check_writable(file)
    with progress_bar(quiet=False) as progress:
        scaling = scale_model(requested.request(model), progress)
    if file is None:
        write_text(scale_json(scaling) if json else scale_csv(scaling) if csv else scale_text(scaling))
    elif file.suffix == ".html":
        from diffprof.advice.views.scale_views import scale_html

        replace_file(file, scale_html(scaling).encode())
    else:
        makers = {".json": scale_json, ".csv": scale_csv, ".txt": scale_text}
        replace_file(file, makers[file.suffix](scaling).encode())
