"""``diffprof models``, ``diffprof models show NAME`` and ``diffprof models add SOURCE``"""

from __future__ import annotations

from typing import Annotated

import typer

from diffprof import catalogue
from diffprof.catalogue.bundled_model import is_bundled, shapes_entry
from diffprof.catalogue.entry import TASKS
from diffprof.catalogue.filters import ModelFilter
from diffprof.catalogue.own_entries import check_name, save_entry, suggest_name
from diffprof.cli.options import completion
from diffprof.cli.options.declarations import LimitMemory, LimitTime, Quiet
from diffprof.cli.options.groups import expand_groups
from diffprof.cli.output.answer import Answer, AnswerOptions
from diffprof.cli.output.terminal import print_written
from diffprof.cli.parsing.search_words import SearchWordGroup
from diffprof.errors import RequestError
from diffprof.record.request import parse_setting
from diffprof.settings.limits import dtype_name
from diffprof.settings.work_limits import work_limits

app = typer.Typer(
    cls=SearchWordGroup,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    subcommand_metavar="[WORD | show NAME | cost NAME... | add SOURCE]",
)

Family = Annotated[str | None, typer.Option(metavar="NAME", help="flux, wan, qwen-image, stable-diffusion, sdxl...")]
Task = Annotated[str | None, typer.Option(metavar="NAME", help=f"{', '.join(TASKS)}.")]
Year = Annotated[str | None, typer.Option(metavar="YEAR", help="When its weights were published.")]
Licence = Annotated[str | None, typer.Option(metavar="NAME", help="Of its weights: apache-2.0, openrail...")]


@app.callback(invoke_without_command=True)
@expand_groups
def models(
    *,
    context: typer.Context,
    match: Annotated[str | None, typer.Option(metavar="WORD", help="Only models with this word in a name.")] = None,
    family: Family = None,
    task: Task = None,
    year: Year = None,
    licence: Licence = None,
    output: AnswerOptions,
) -> None:
    """List the models that diffprof knows by name.

    Their configurations are part of diffprof: profiling one of them needs no network. The first, shapes, also comes
    with its weights. Your own models come before the others; `diffprof models add` gives one a name.
    """
    if context.invoked_subcommand is not None:
        return
    output.check()
    from diffprof.render import models as render

    chosen = ModelFilter.parse(match, family=family, task=task, year=year, licence=licence)
    found = chosen.select((shapes_entry(), *catalogue.entries()))
    answer = Answer(
        lambda console: render.print_models(found, console),
        lambda: render.models_json(found),
        lambda: render.models_csv(found),
        lambda: render.models_markdown(found),
    )
    output.write(answer)


@app.command()
@expand_groups
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A short name, an alias or a hub id.", autocompletion=completion.model_names
        ),
    ],
    output: AnswerOptions,
) -> None:
    """Print everything known about a model: its sources, and what is not confirmed."""
    output.check()
    from diffprof.render import models as render

    entry = shapes_entry() if is_bundled(name) else catalogue.find(name)
    if entry is None:
        raise RequestError(catalogue.unknown_model_message(name))
    answer = Answer(
        lambda console: render.print_model(entry, console),
        lambda: render.model_json(entry),
        lambda: render.model_csv(entry),
        lambda: render.model_markdown(entry),
    )
    output.write(answer)


@app.command()
@expand_groups
def cost(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="Models to count, each with its recommended settings.",
            autocompletion=completion.model_names,
        ),
    ],
    output: AnswerOptions,
) -> None:
    """Count several models and print what one generation costs with each, relative to the first."""
    from diffprof.cli.output.progress import progress_bar
    from diffprof.comparison.model_costs import model_costs
    from diffprof.comparison.views import model_costs as render
    from diffprof.counting.request_profile import count_request
    from diffprof.record.request import Request

    output.check()
    with progress_bar(output.quiet) as progress:
        costs = model_costs(names, lambda name: count_request(Request.create(name), progress=progress))
    answer = Answer(
        lambda console: render.print_costs(costs, console),
        lambda: render.costs_json(costs),
        lambda: render.costs_csv(costs),
        lambda: render.costs_markdown(costs),
    )
    output.write(answer)


@app.command()
def add(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A folder in diffusers layout, a hub id, or a file of weights.")
    ],
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What to call it; else the last part of it.")] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Its title in lists.")] = None,
    alias: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Another name for it. Repeatable.")] = None,
    dtype: Annotated[str | None, typer.Option(metavar="NAME", help="float32, float16 or bfloat16.")] = None,
    recommend: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A call argument for requests that do not give it. Repeatable."),
    ] = None,
    family: Family = None,
    task: Task = None,
    year: Year = None,
    licence: Licence = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an entry, or come before one.")] = False,
    limit_memory: LimitMemory = None,
    limit_time: LimitTime = None,
    quiet: Quiet = False,
) -> None:
    """Give a model of your own a name that every command, the page and Python know.

    Its configuration is written to a file in your folder of entries (catalogue_dir of `diffprof config`). Weights stay
    where they are.
    """
    chosen = name or suggest_name(source)
    check_name(chosen, force)
    described = ModelFilter.parse(None, family=family, task=task, year=year, licence=licence)
    settings = dict(parse_setting(setting) for setting in recommend or ())
    from diffprof.counting.bounded_work import within_limits
    from diffprof.pipelines.describing import describe_source

    with within_limits(source, work_limits()):
        entry = describe_source(
            source, chosen, dtype_name(dtype), title=title, aliases=tuple(alias or ()), recommended=settings,
            family=described.family, task=described.task, year=described.year, licence=described.licence,
        )  # fmt: skip
    print_written(save_entry(entry, force), quiet)
