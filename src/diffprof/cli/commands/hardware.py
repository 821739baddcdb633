"""``diffprof hardware``, ``diffprof hardware show NAME`` and ``diffprof hardware calibrate``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof.catalogue.accelerators import SHORT_NAME, Accelerator, find_accelerator
from diffprof.catalogue.own_accelerators import keep_accelerator, known_accelerators, own_file
from diffprof.cli.options import completion
from diffprof.cli.options import declarations as options
from diffprof.cli.options.groups import expand_groups
from diffprof.cli.output.answer import Answer, AnswerOptions
from diffprof.cli.output.terminal import print_progress, print_written, write_rendered, write_text
from diffprof.cli.parsing.search_words import SearchWordGroup
from diffprof.errors import RequestError

app = typer.Typer(
    cls=SearchWordGroup,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    subcommand_metavar="[WORD | show NAME | calibrate]",
)

FileOption = Annotated[
    Path | None, typer.Option("--file", metavar="FILE.toml", help="Also use the accelerators of this file.")
]


@app.callback(invoke_without_command=True)
@expand_groups
def hardware(
    *,
    context: typer.Context,
    match: Annotated[
        str | None, typer.Option(metavar="WORD", help="Only accelerators with this word in a name.")
    ] = None,
    extra: FileOption = None,
    output: AnswerOptions,
) -> None:
    """List the accelerators that diffprof knows: peaks, memory, bandwidth and power.

    The numbers are those that the makers publish: docs/hardware.md explains each, and how to add an accelerator.
    """
    if context.invoked_subcommand is not None:
        return
    output.check()
    from diffprof.render import accelerators as render

    known = known_accelerators(extra)
    found = [entry for entry in known if match is None or _matches(entry, match)]
    if not found and match is not None:
        found = [find_accelerator(match, known)]
    answer = Answer(
        lambda console: render.print_accelerators(found, console),
        lambda: render.accelerators_json(found),
        lambda: render.accelerators_csv(found),
        lambda: render.accelerators_markdown(found),
    )
    output.write(answer)


@app.command()
@expand_groups
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A short name, or the name that torch reports.",
            autocompletion=completion.accelerator_names,
        ),
    ],
    *,
    extra: FileOption = None,
    output: AnswerOptions,
) -> None:
    """Print every number of an accelerator with its unit, and where it was published or fitted."""
    output.check()
    from diffprof.render import accelerators as render

    entry = find_accelerator(name, known_accelerators(extra))
    answer = Answer(
        lambda console: render.print_accelerator(entry, console),
        lambda: render.accelerator_json(entry),
        lambda: render.accelerator_csv(entry),
        lambda: render.accelerator_markdown(entry),
    )
    output.write(answer)


@app.command()
def calibrate(
    device: options.Device = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to call it; by default after the name that it reports.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE.toml", help="Keep it here, not in the user's file."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the accelerator as JSON.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure this machine: products, convolutions, attention, memory, launches. Takes up to two minutes.

    The result is kept as an accelerator of the user, which --gpu then knows by its name. Close what else is running.
    """
    from diffprof.pipelines.loading.placement import target_of
    from diffprof.record.atomic_files import check_writable
    from diffprof.render import accelerators as render
    from diffprof.runtime.hardware_calibration import calibrate as measure

    if file is not None:
        check_writable(file)
    if name is not None and not SHORT_NAME.fullmatch(name):
        raise RequestError(f"--name must be lower-case letters, digits, dots and hyphens, not {name!r}.")
    entry = measure(target_of(device, None).device, name, lambda what: print_progress(f"Timing {what}", quiet))
    kept = keep_accelerator(entry, file or own_file())
    if json:
        write_text(render.accelerator_json(entry))
    else:
        write_rendered(lambda console: render.print_accelerator(entry, console))
    print_written(kept, quiet)


def _matches(entry: Accelerator, word: str) -> bool:
    texts = (entry.name, *entry.aliases, *entry.reported_names, entry.maker, entry.architecture)
    return any(word.lower() in text.lower() for text in texts)
