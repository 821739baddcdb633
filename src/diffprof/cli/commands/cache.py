"""``diffprof cache info`` and ``diffprof cache clear``"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from diffprof.cli.options.groups import expand_groups
from diffprof.cli.output.answer import ON_CONSOLE, Answer, AnswerOptions
from diffprof.record import cache
from diffprof.render import numbers

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def about(context: typer.Context) -> None:
    """Inspect or clear the cache of profiles.

    A profile is counted once, then read from the cache, as long as the model's configuration, the request and the
    versions of diffprof, torch, diffusers and transformers stay the same.
    """
    if context.invoked_subcommand is None:
        _write_info(ON_CONSOLE)


@app.command()
@expand_groups
def info(*, output: AnswerOptions) -> None:
    """Print where the cache is and what it holds."""
    output.check()
    _write_info(output)


def _write_info(output: AnswerOptions) -> None:
    from diffprof.render.blocks import Block, markdown
    from diffprof.render.columns import Column
    from diffprof.render.csv import table_csv

    info = cache.info()
    values: dict[str, Any] = {"folder": str(info.folder), "profiles": info.entries, "bytes": info.size_bytes}

    def show(console: Console) -> None:
        line = f"{info.folder}: {numbers.times(info.entries, 'profile')}, {numbers.gigabytes(info.size_bytes)}"
        console.out(line, highlight=False)

    answer = Answer(
        show,
        lambda: json.dumps(values, indent=2) + "\n",
        lambda: table_csv(tuple(values), [values]),
        lambda: markdown([Block(columns=[Column(name, [str(value)]) for name, value in values.items()])]),
    )
    output.write(answer)


@app.command()
def clear() -> None:
    """Remove every profile from the cache."""
    removed = cache.clear()
    count = numbers.times(removed.entries, "profile")
    typer.echo(f"{removed.folder}: removed {count}, {numbers.gigabytes(removed.size_bytes)}")
