"""``diffprof history list|show|compare|trend|tag|export|prune``"""

from __future__ import annotations

import itertools
import sys
import tempfile
from datetime import datetime, timezone
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from diffprof.cli.moments import FORMS, moment
from diffprof.cli.request import dtype_name
from diffprof.cli.show import Table, shown
from diffprof.cli.terminal import write_shown, write_text
from diffprof.errors import RequestError
from diffprof.record.history import Filters, History
from diffprof.render import history as render

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


class Kind(str, Enum):
    """What made a kept run."""

    profile = "profile"
    run = "run"
    generate = "generate"


class Metric(str, Enum):
    """A figure that can be followed over time."""

    wall_seconds = "wall_seconds"
    peak_memory_bytes = "peak_memory_bytes"
    macs = "macs"
    parameters = "parameters"


class Order(str, Enum):
    """What runs can be listed by."""

    created_at = "created_at"
    wall_seconds = "wall_seconds"
    peak_memory_bytes = "peak_memory_bytes"
    macs = "macs"
    parameters = "parameters"


Model = Annotated[str | None, typer.Option(metavar="NAME", help="Only of this model.")]
OfKind = Annotated[Kind | None, typer.Option(help="Only from this command.", show_default=False)]
Since = Annotated[str | None, typer.Option(metavar="WHEN", help=f"Only from then on: {FORMS}.")]
Until = Annotated[str | None, typer.Option(metavar="WHEN", help="Only until then; a day is counted whole.")]
Tag = Annotated[str | None, typer.Option(metavar="TAG", help="Only with this tag.")]
Device = Annotated[str | None, typer.Option(metavar="NAME", help="Only on this device: its name, or cpu, cuda...")]
Dtype = Annotated[str | None, typer.Option(metavar="NAME", help="Only in this dtype.")]
Text = Annotated[str | None, typer.Option(metavar="WORDS", help="Only with this in a name or a prompt.")]
Json = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")]
Run = Annotated[int, typer.Argument(metavar="RUN", help="The number of a run, from `diffprof history list`.")]


@app.callback(invoke_without_command=True)
def history(context: typer.Context) -> None:
    """Look at what was kept with --keep: list, find, compare, see how it went.

    Without a command it lists the newest runs. The history is one SQLite file; DIFFPROF_HISTORY or `history` in
    diffprof.toml says where it is to be.
    """
    if context.invoked_subcommand is None:
        list_runs()


@app.command("list")
def list_runs(
    model: Model = None,
    kind: OfKind = None,
    since: Since = None,
    until: Until = None,
    tag: Tag = None,
    device: Device = None,
    dtype: Dtype = None,
    text: Text = None,
    order: Annotated[Order, typer.Option(help="The newest or largest first.")] = Order.created_at,
    reverse: Annotated[bool, typer.Option("--reverse", help="The oldest or smallest first.")] = False,
    limit: Annotated[int, typer.Option(metavar="N", help="How many to show.", min=1)] = 20,
    offset: Annotated[int, typer.Option(metavar="N", help="How many to pass over before.", min=0)] = 0,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """List kept runs, the newest first."""
    _check_forms(json, csv)
    kept, filters = History(), _filters(model, kind, since, until, tag, device, dtype, text)
    runs = kept.find(filters, limit=limit, offset=offset, order=order.value, reverse=reverse)
    if csv:
        write_text(render.runs_csv(runs))
        return
    total = kept.count(filters)
    if json:
        write_text(render.runs_json(runs, total))
    elif not total:
        _say_nothing(kept)
    else:
        write_shown(lambda console: render.print_runs(runs, total, console, offset))


@app.command()
def show(
    run: Run,
    by: Annotated[Table | None, typer.Option(help="What the rows of the table are.", show_default=False)] = None,
    depth: Annotated[
        str | None, typer.Option(metavar="N", help="Show the module tree to this depth; implies --by module.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the profile as JSON.")] = False,
    csv: Csv = False,
    file: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to a .json, .json.gz, .csv or .txt file."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the picture that is kept with it, as it was made.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List every assumption.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No messages; errors only.")] = False,
) -> None:
    """Print a kept run, as `diffprof show` prints a saved profile."""
    kept = History()
    about = kept.kept(run)
    if picture is not None:
        _write_picture(kept, run, picture)
    shown(
        lambda: kept.get(run), f"run {run}",
        by=by, depth=depth, json=json, csv=csv, file=file, verbose=verbose, quiet=quiet,
        heading="" if quiet else render.kept_line(about),
    )  # fmt: skip


@app.command(context_settings={"ignore_unknown_options": True})
def compare(
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="RUN RUN [RUN...] [OPTION...]", help="Numbers of runs, then options of the other."),
    ],
) -> None:
    """Compare kept runs, as `diffprof compare` compares saved profiles; it takes the same options."""
    runs = [int(word) for word in itertools.takewhile(str.isdecimal, arguments)]
    if len(runs) < 2:
        raise RequestError("Give the numbers of at least two runs to compare, before any option.")
    kept = History()
    with tempfile.TemporaryDirectory() as folder:
        files = [_saved(kept, run, Path(folder)) for run in runs]
        other = typer.main.get_command(import_module("diffprof.cli.compare").app)
        other.main([*files, *arguments[len(runs) :]], prog_name="diffprof history compare", standalone_mode=False)


@app.command()
def trend(
    metric: Annotated[Metric, typer.Argument(help="The figure to follow.")] = Metric.wall_seconds,
    model: Model = None,
    kind: OfKind = None,
    since: Since = None,
    until: Until = None,
    tag: Tag = None,
    device: Device = None,
    dtype: Dtype = None,
    text: Text = None,
    limit: Annotated[int, typer.Option(metavar="N", help="How many series to show.", min=1)] = 20,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show how a figure went from run to run of the same request on the same device."""
    _check_forms(json, csv)
    kept = History()
    found = kept.trend(metric.value, _filters(model, kind, since, until, tag, device, dtype, text), limit=limit)
    if json or csv:
        write_text(render.trend_json(found) if json else render.trend_csv(found))
    elif not found.total:
        _say_nothing(kept)
    else:
        write_shown(lambda console: render.print_trend(found, console))


@app.command()
def tag(
    run: Run,
    tags: Annotated[list[str], typer.Argument(metavar="TAG...", help="Words to find it by.")],
    remove: Annotated[bool, typer.Option("--remove", help="Take them off instead.")] = False,
) -> None:
    """Put tags on a kept run, or take them off."""
    kept = History()
    (kept.untag if remove else kept.tag)(run, *tags)
    write_text(f"{render.kept_line(kept.kept(run))}\n")


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv or .parquet file to write.")],
    model: Model = None,
    kind: OfKind = None,
    since: Since = None,
    until: Until = None,
    tag: Tag = None,
    device: Device = None,
    dtype: Dtype = None,
    text: Text = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No messages; errors only.")] = False,
) -> None:
    """Write the figures of all kept runs to a file, a row for each."""
    from diffprof.render import numbers

    count = History().export(file, _filters(model, kind, since, until, tag, device, dtype, text))
    if not quiet:
        sys.stderr.write(f"Wrote {file}: {numbers.times(count, 'run')}\n")


@app.command()
def prune(
    keep: Annotated[int | None, typer.Option(metavar="N", help="All but the newest N go.", min=0)] = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="WHEN", help="What is older goes: 90d, 12w or a date.")
    ] = None,
    model: Model = None,
    kind: OfKind = None,
    tag: Tag = None,
    device: Device = None,
    dtype: Dtype = None,
    text: Text = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Remove kept runs for good: the old ones, or all but the newest; of those that are meant."""
    if (keep is None) == (older_than is None):
        raise RequestError("Say what is to go, either with --keep N or with --older-than WHEN.")
    edge = None if older_than is None else moment("--older-than", older_than, _now())
    filters = _filters(model, kind, None, None, tag, device, dtype, text)
    pruned = History().prune(keep=keep, older_than=edge, filters=filters, dry_run=dry_run)
    write_text(f"{render.pruned_line(pruned, dry_run)}\n")


def _filters(
    model: str | None,
    kind: Kind | None,
    since: str | None,
    until: str | None,
    tag: str | None,
    device: str | None,
    dtype: str | None,
    text: str | None,
) -> Filters:
    return Filters(
        model=model,
        kind=None if kind is None else kind.value,
        since=None if since is None else moment("--since", since, _now()),
        until=None if until is None else moment("--until", until, _now(), end_of_day=True),
        tag=tag,
        device=device,
        dtype=dtype_name(dtype),
        text=text,
    )


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _check_forms(json: bool, csv: bool) -> None:
    if json and csv:
        raise RequestError("--json and --csv exclude each other; choose one.")


def _say_nothing(kept: History) -> None:
    if kept.count():
        write_text("No kept run is like that.\n")
    else:
        write_text(f"Nothing is kept in {kept.path} yet; `diffprof profile MODEL --keep` keeps a profile.\n")


def _saved(kept: History, run: int, folder: Path) -> str:
    """The run as a file, with its picture beside it, as `diffprof compare` looks for it."""
    picture = kept.picture(run)
    if picture is not None:
        (folder / f"run-{run}.png").write_bytes(picture)
    return str(kept.get(run).save(folder / f"run-{run}.json.gz"))


def _write_picture(kept: History, run: int, file: Path) -> None:
    from diffprof.record.atomic_files import replace_file

    data = kept.picture(run)
    if data is None:
        raise RequestError(f"No picture is kept with run {run}.")
    replace_file(file, data)
