"""``diffprof app``"""

from __future__ import annotations

from typing import Annotated

import typer

from diffprof.errors import RequestError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

MOST_ITERATIONS = 1_000


@app.command()
def page(
    enable_profiling: Annotated[
        bool | None,
        typer.Option(
            "--enable-profiling/--no-profiling",
            help="Measure what is generated; by default as enable_compute_profiling of `diffprof config` says.",
            show_default=False,
        ),
    ] = None,
    profiling_iterations: Annotated[
        int,
        typer.Option(
            metavar="N", help="Calls that are timed after the one that gives the picture; 0 for that one itself."
        ),
    ] = 0,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; only this machine by default.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="0 for any that is free.")] = 7860,
    allow_paths: Annotated[
        bool,
        typer.Option("--allow-paths", help="Let visitors open any folder of this machine and any model of the hub."),
    ] = False,
) -> None:
    """Open a page in the browser: profile, generate, compare and look at what was kept.

    The page asks no other machine for anything. It needs Gradio: pip install 'diffprof[app]'.
    """
    if not 0 <= profiling_iterations <= MOST_ITERATIONS:
        raise RequestError(
            f"--profiling-iterations must be from 0 to {MOST_ITERATIONS:,}, not {profiling_iterations:,}."
        )
    if not 0 <= port <= 65_535:
        raise RequestError(f"--port must be from 0 to 65,535, not {port:,}.")
    from diffprof import settings as config
    from diffprof.app import Setup, serve

    serve(
        Setup(
            host=host,
            port=port,
            allow_paths=allow_paths,
            profiling=config.ENABLE_COMPUTE_PROFILING if enable_profiling is None else enable_profiling,
            profiling_iterations=profiling_iterations,
        )
    )
