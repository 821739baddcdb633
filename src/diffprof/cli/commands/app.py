"""``diffprof app``"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffprof.cli.options.groups import expand_groups
from diffprof.errors import RequestError
from diffprof.record.request import check_number

if TYPE_CHECKING:
    from diffprof.app import Setup

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True)
class ServerOptions:
    """Options for where the app listens, who may open it, and what its visitors may do."""

    enable_profiling: Annotated[
        bool | None,
        typer.Option(
            "--enable-profiling/--no-profiling",
            help="Measure each generation; by default enable_compute_profiling of `diffprof config` decides.",
            show_default=False,
        ),
    ] = None
    profiling_iterations: Annotated[
        int,
        typer.Option(metavar="N", help="Calls to time after the one that generates the image; 0 to time that one."),
    ] = 0
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen on; by default only this machine.")
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option(metavar="N", help="The port to listen on; 0 for any free one.")] = 7860
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Another host name that the page may be opened under, for example behind a proxy. Repeatable.",
        ),
    ] = None
    allow_frame: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SITE", help="A site that may show the page in a frame, such as huggingface.co. Repeatable."
        ),
    ] = None
    allow_paths: Annotated[
        bool,
        typer.Option("--allow-paths", help="Let visitors open any folder of this machine and any model of the hub."),
    ] = False

    def setup(self) -> Setup:
        """Check the options, and fill in defaults from the settings."""
        check_number("profiling_iterations", self.profiling_iterations, "--profiling-iterations")
        check_number("port", self.port, "--port")
        from diffprof import settings as config
        from diffprof.app import Setup

        return Setup(
            host=self.host,
            port=self.port,
            allowed_hosts=tuple(self.allow_host or ()),
            framing_sites=tuple(self.allow_frame or ()),
            allow_paths=self.allow_paths,
            profiling=config.ENABLE_COMPUTE_PROFILING if self.enable_profiling is None else self.enable_profiling,
            profiling_iterations=self.profiling_iterations,
        )


@app.command()
@expand_groups
def page(
    *,
    server: ServerOptions,
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
    setup = server.setup()
    from diffprof.app import serve
    from diffprof.settings.work_limits import SERVER, set_work_limits

    set_work_limits(SERVER)
    serve(setup)


def _write_calculator(static: bool, output: Path | None) -> None:
    if not static:
        raise RequestError("-o is the folder of the static calculator; add --static.")
    if output is None:
        raise RequestError("--static needs a folder to write to; name one with -o.")
    from diffprof.app.static_site import write_site

    models = write_site(output)
    typer.echo(f"Wrote {output} with the laws of {len(models)} models", err=True)
