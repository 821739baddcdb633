"""``diffprof scale MODEL``"""

from __future__ import annotations

import typer

from diffprof.cli.options import declarations as options
from diffprof.cli.options.groups import CallOptions, expand_groups
from diffprof.cli.output.answer import Answer, PageOptions
from diffprof.cli.output.progress import progress_bar

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
@expand_groups
def scale(model: options.Model, requested: CallOptions, output: PageOptions) -> None:
    """Show how the cost of a model grows with size, steps, images and frames.

    The exact law of the model is printed as a formula, in words, and as tables over square sizes and numbers of steps.
    A model without a law, such as one in a folder, is counted at a few sizes. docs/scaling.md says how laws are found
    and proved.
    """
    from diffprof.advice.scale import scale_model
    from diffprof.advice.views import scale_views as views

    output.check()
    with progress_bar(output.quiet) as progress:
        scaling = scale_model(requested.request(model), progress)
    answer = Answer(
        lambda console: views.print_scale(scaling, console),
        lambda: views.scale_json(scaling),
        lambda: views.scale_csv(scaling),
        lambda: views.scale_markdown(scaling),
        {".html": lambda: views.scale_html(scaling).encode()},
    )
    output.write(answer)
