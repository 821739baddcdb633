"""``diffprof config``"""

from __future__ import annotations

from typing import Annotated

import typer

from diffprof import settings as configuration
from diffprof.cli.terminal import write_rendered, write_text
from diffprof.errors import RequestError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def config(
    json: Annotated[bool, typer.Option("--json", help="Print the settings as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print the settings as CSV.")] = False,
) -> None:
    """Show the settings in effect, and where each comes from.

    A setting NAME is taken from the environment (DIFFPROF_NAME), else from diffprof.toml in the current folder, else
    from the user's config.toml. DIFFPROF_CONFIG names a file to read instead of those two.
    """
    if json and csv:
        raise RequestError("--json and --csv exclude each other; choose one.")
    from diffprof.render import settings as render

    settings, files = configuration.settings(), configuration.files()
    if json or csv:
        write_text(render.settings_json(settings, files) if json else render.settings_csv(settings))
    else:
        write_rendered(lambda console: render.print_settings(settings, files, console))
