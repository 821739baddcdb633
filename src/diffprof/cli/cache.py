"""``diffprof cache info`` and ``diffprof cache clear``"""

from __future__ import annotations

import typer

from diffprof.record import cache
from diffprof.render import numbers

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
        info()


@app.command()
def info() -> None:
    """Print where the cache is and what it holds."""
    held = cache.info()
    typer.echo(f"{held.folder}: {numbers.times(held.entries, 'profile')}, {numbers.gigabytes(held.size_bytes)}")


@app.command()
def clear() -> None:
    """Remove every profile from the cache."""
    gone = cache.clear()
    typer.echo(f"{gone.folder}: removed {numbers.times(gone.entries, 'profile')}, {numbers.gigabytes(gone.size_bytes)}")
