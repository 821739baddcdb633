"""``diffprof config``"""

from __future__ import annotations

import typer

from diffprof import settings as configuration
from diffprof.cli.options.groups import expand_groups
from diffprof.cli.output.answer import Answer, AnswerOptions

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@expand_groups
def config(output: AnswerOptions) -> None:
    """Show the settings in effect and where each comes from.

    A setting NAME is taken from the environment (DIFFPROF_NAME), else from diffprof.toml in the current folder, else
    from the user's config.toml. DIFFPROF_CONFIG names a file to read instead of those two.
    """
    from diffprof.render import settings as render

    output.check()
    settings, files = configuration.settings(), configuration.files()
    answer = Answer(
        lambda console: render.print_settings(settings, files, console),
        lambda: render.settings_json(settings, files),
        lambda: render.settings_csv(settings),
        lambda: render.settings_markdown(settings, files),
    )
    output.write(answer)
