"""``diffprof profile MODEL``"""

from __future__ import annotations

from typing import Annotated

import typer

from diffprof.cli.options import declarations as options
from diffprof.cli.options.groups import OutputOptions, ProfileOptions, expand_groups
from diffprof.cli.options.keep import Keep, make_history_writer
from diffprof.cli.output.profile import choose_output
from diffprof.cli.output.progress import progress_bar
from diffprof.cli.output.terminal import write_text
from diffprof.cli.parsing.optional_values import OptionalValueCommand
from diffprof.record.request import parse_inputs
from diffprof.render.table_names import ProfileTable

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command(cls=OptionalValueCommand)
@expand_groups
def profile(
    model: options.Model,
    requested: ProfileOptions,
    output: OutputOptions,
    by: Annotated[ProfileTable | None, typer.Option(help="What the rows of the table are.", show_default=False)] = None,
    component: options.Component = None,
    method: options.Method = None,
    inputs: options.Inputs = None,
    gpu: options.Gpu = None,
    keep: Keep = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Count again instead of using the cache.")] = False,
) -> None:
    """Count what one generation with a model costs, without its weights.

    Only configuration files are downloaded, and only if MODEL is a hub id that diffprof does not know by name. Without
    options, the settings recommended for the model are used, else the pipeline's defaults.
    """
    from diffprof.counting.request_profile import count_request

    result = choose_output(output, by)
    accelerators = options.accelerator_names(gpu)
    if accelerators:
        from diffprof.advice.predict import PredictionRequest, check_request

        check_request(PredictionRequest(accelerators))
    shapes = parse_inputs(inputs or (), component, method)
    request = requested.request(model, component=component, method=method, inputs=shapes)
    keep_profile = make_history_writer(keep, "profile", output.quiet)
    with progress_bar(output.quiet) as progress:
        counted = count_request(request, use_cache=not no_cache, progress=progress)
    result.write(counted)
    if accelerators and result.format is None and result.file is None:
        from diffprof.advice.views.accelerator_lines import accelerator_lines

        write_text("".join(f"{line}\n" for line in ("", *accelerator_lines(counted, accelerators))))
    keep_profile(counted)
