"""``diffprof models`` and ``diffprof models show NAME``"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from diffprof import catalogue
from diffprof.catalogue.bundled_model import is_bundled, shapes_entry
from diffprof.cli.output import check_formats
from diffprof.cli.terminal import write_rendered, write_text
from diffprof.errors import RequestError


class ListOrShow(TyperGroup):
    """``diffprof models WORD`` lists the models that match the word: a word that is no command is a ``--match``."""

    options_with_values = ("--file",)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for place, word in enumerate(args):
            if word == "--match" or word in self.commands:
                break
            if not word.startswith("-") and (not place or args[place - 1] not in self.options_with_values):
                args = [*args[:place], "--match", *args[place:]]
                break
        return super().parse_args(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or ctx.fail("Give one WORD to search for, or `show NAME`.")


app = typer.Typer(
    cls=ListOrShow,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    subcommand_metavar="[WORD | show NAME]",
)


@app.callback(invoke_without_command=True)
def models(
    context: typer.Context,
    match: Annotated[str | None, typer.Option(metavar="WORD", help="Only models with this word in a name.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print the list as CSV.")] = False,
) -> None:
    """List the models that diffprof knows by name.

    Their configurations are part of diffprof: profiling one of them needs no network. The first, shapes, also comes
    with its weights.
    """
    if context.invoked_subcommand is not None:
        return
    check_formats(json, csv)
    from diffprof.render import models as render

    found = [entry for entry in (shapes_entry(), *catalogue.entries()) if match is None or _matches(entry, match)]
    if not found and match is not None:
        raise RequestError(catalogue.unknown_model_message(match))
    if json or csv:
        write_text(render.models_json(found) if json else render.models_csv(found))
    else:
        write_rendered(lambda console: render.print_models(found, console))


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A short name, an alias or a hub id.")],
    json: Annotated[bool, typer.Option("--json", help="Print the model as JSON.")] = False,
) -> None:
    """Print everything known about a model: its sources, and what is not confirmed."""
    from diffprof.render import models as render

    entry = shapes_entry() if is_bundled(name) else catalogue.find(name)
    if entry is None:
        raise RequestError(catalogue.unknown_model_message(name))
    if json:
        write_text(render.model_json(entry))
    else:
        write_rendered(lambda console: render.print_model(entry, console))


def _matches(entry: catalogue.Entry, word: str) -> bool:
    lowered = word.lower()
    return any(lowered in text.lower() for text in (*entry.names, entry.title, entry.media, entry.pipeline))
