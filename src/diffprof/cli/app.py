"""``diffprof app``"""

from __future__ import annotations

from typing import Annotated

import typer

from diffprof.record.request import check_number

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


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
            metavar="N", help="Calls that are timed after the one that gives the image; 0 for that one itself."
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
    check_number("profiling_iterations", profiling_iterations, "--profiling-iterations")
    check_number("port", port, "--port")
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
