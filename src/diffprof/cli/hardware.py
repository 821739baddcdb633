"""``diffprof hardware`` and ``diffprof hardware show NAME``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof.catalogue.accelerators import Accelerator, accelerators, accelerators_with, find_accelerator
from diffprof.cli.models import ListOrShow
from diffprof.cli.output import check_formats
from diffprof.cli.terminal import write_rendered, write_text

app = typer.Typer(
    cls=ListOrShow,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    subcommand_metavar="[WORD | show NAME]",
)

FileOption = Annotated[
    Path | None, typer.Option("--file", metavar="FILE.toml", help="Also use the accelerators of this file.")
]


@app.callback(invoke_without_command=True)
def hardware(
    context: typer.Context,
    match: Annotated[
        str | None, typer.Option(metavar="WORD", help="Only accelerators with this word in a name.")
    ] = None,
    file: FileOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print the list as CSV.")] = False,
) -> None:
    """List the accelerators that diffprof knows: peaks, memory, bandwidth and power.

    The numbers are those that the makers publish: docs/hardware.md explains each, and how to add an accelerator.
    """
    if context.invoked_subcommand is not None:
        return
    check_formats(json, csv)
    from diffprof.render import accelerators as render

    known = accelerators_with(file) if file else accelerators()
    found = [entry for entry in known if match is None or _matches(entry, match)]
    if not found and match is not None:
        found = [find_accelerator(match, known)]
    if json or csv:
        write_text(render.accelerators_json(found) if json else render.accelerators_csv(found))
    else:
        write_rendered(lambda console: render.print_accelerators(found, console))


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A short name, or the name that torch reports.")],
    file: FileOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the accelerator as JSON.")] = False,
) -> None:
    """Print every number of an accelerator with its unit, and where it was published."""
    from diffprof.render import accelerators as render

    entry = find_accelerator(name, accelerators_with(file) if file else None)
    if json:
        write_text(render.accelerator_json(entry))
    else:
        write_rendered(lambda console: render.print_accelerator(entry, console))


def _matches(entry: Accelerator, word: str) -> bool:
    texts = (entry.name, *entry.aliases, *entry.reported_names, entry.maker, entry.architecture)
    return any(word.lower() in text.lower() for text in texts)
