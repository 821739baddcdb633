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
            help="Measure each generation; by default enable_compute_profiling of `diffprof config` decides.",
            show_default=False,
        ),
    ] = None,
    profiling_iterations: Annotated[
        int,
        typer.Option(metavar="N", help="Calls to time after the one that generates the image; 0 to time that one."),
    ] = 0,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen on; by default only this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="The port to listen on; 0 for any free one.")] = 7860,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A further name that the page is opened under, as behind a proxy. Repeatable."
        ),
    ] = None,
    allow_paths: Annotated[
        bool,
        typer.Option("--allow-paths", help="Let visitors open any folder of this machine and any model of the hub."),
    ] = False,
) -> None:
    """Open a page in the browser: profile, generate, compare and look at kept runs.

    The page loads nothing from other machines. It needs Gradio: pip install 'diffprof[app]'.
    """
    check_number("profiling_iterations", profiling_iterations, "--profiling-iterations")
    check_number("port", port, "--port")
    from diffprof import settings as config
    from diffprof.app import Setup, serve

    serve(
        Setup(
            host=host,
            port=port,
            allowed_hosts=tuple(allow_host or ()),
            allow_paths=allow_paths,
            profiling=config.ENABLE_COMPUTE_PROFILING if enable_profiling is None else enable_profiling,
            profiling_iterations=profiling_iterations,
        )
    )
