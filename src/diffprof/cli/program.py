"""The ``diffprof`` program: a typer app whose commands are imported only when they run, so that help is fast."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from diffprof.cli.overview import COMMANDS, overview
from diffprof.cli.parsing.plain_values import skip_needless_conversions


class LazyCommands(TyperGroup):
    """A group of commands whose modules are imported when needed; listing the commands imports none."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        skip_needless_conversions(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            ctx.fail(_unknown_command_message(cmd_name))
        module = import_module(f"diffprof.cli.commands.{cmd_name}")
        command = typer.main.get_command(module.app)
        for part in (command, *getattr(command, "commands", {}).values()):
            skip_needless_conversions(part.get_params(ctx))
        return command

    def get_help(self, ctx: Any) -> str:
        return overview()


app = typer.Typer(
    cls=LazyCommands,
    rich_markup_mode=None,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def diffprof(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", is_eager=True, callback=lambda on: _print_version(on)),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")] = False,
) -> None:
    """What a diffusion pipeline costs, where the cost goes and what to change."""


def _print_version(requested: bool) -> None:
    if requested:
        import diffprof

        typer.echo(f"diffprof {diffprof.__version__}")
        raise typer.Exit


def _unknown_command_message(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the commands are {', '.join(COMMANDS)}."
    return f"There is no command {name}; {hint}"
