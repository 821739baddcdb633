"""``diffprof app``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof.errors import RequestError
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
            metavar="NAME",
            help="Another host name that the page may be opened under, for example behind a proxy. Repeatable.",
        ),
    ] = None,
    allow_frame: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SITE", help="A site that may show the page in a frame, such as huggingface.co. Repeatable."
        ),
    ] = None,
    allow_paths: Annotated[
        bool,
        typer.Option("--allow-paths", help="Let visitors open any folder of this machine and any model of the hub."),
    ] = False,
    static: Annotated[
        bool, typer.Option("--static", help="Write the calculator as plain files for any web host, and serve nothing.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FOLDER", help="With --static: a new or empty folder to write into."),
    ] = None,
) -> None:
    """Open the app in a browser: profile, generate, compare, and browse kept runs.

    The page loads nothing from other machines. It needs Gradio: pip install 'diffprof[app]'.
    """
    if static or output is not None:
        _write_calculator(static, output)
        return
    check_number("profiling_iterations", profiling_iterations, "--profiling-iterations")
    check_number("port", port, "--port")
    from diffprof import settings as config
    from diffprof.app import Setup, serve
    from diffprof.settings.work_limits import SERVER, set_work_limits

    set_work_limits(SERVER)
    serve(
        Setup(
            host=host,
            port=port,
            allowed_hosts=tuple(allow_host or ()),
            framing_sites=tuple(allow_frame or ()),
            allow_paths=allow_paths,
            profiling=config.ENABLE_COMPUTE_PROFILING if enable_profiling is None else enable_profiling,
            profiling_iterations=profiling_iterations,
        )
    )


def _write_calculator(static: bool, output: Path | None) -> None:
    if not static:
        raise RequestError("-o is the folder of the static calculator; add --static.")
    if output is None:
        raise RequestError("--static needs a folder to write to; name one with -o.")
    from diffprof.app.static_site import write_site

    models = write_site(output)
    typer.echo(f"Wrote {output} with the laws of {len(models)} models", err=True)
