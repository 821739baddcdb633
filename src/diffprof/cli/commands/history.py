"""``diffprof history list|show|compare|trend|tag|export|repair|prune``"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diffprof.cli.options.declarations import Quiet
from diffprof.cli.options.groups import OutputOptions, expand_groups
from diffprof.cli.output.answer import ON_CONSOLE, Answer, AnswerOptions
from diffprof.cli.output.comparison import ComparisonOptions, write_comparison
from diffprof.cli.output.profile import SavedTable, write_saved
from diffprof.cli.output.terminal import print_progress, print_written, write_text
from diffprof.cli.parsing.dates import FORMS, parse_moment
from diffprof.errors import RequestError
from diffprof.record.history import Filters, History
from diffprof.render import history as render
from diffprof.settings.limits import dtype_name

if TYPE_CHECKING:
    from diffprof.record.profile import Profile

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


NEWEST = 20
"""Runs that are listed by default."""


class RunKind(str, Enum):
    """The command that made a kept run."""

    profile = "profile"
    run = "run"
    generate = "generate"


class Metric(str, Enum):
    """A metric whose trend can be shown."""

    time = "time"
    peak_memory = "peak_memory"
    macs = "macs"
    parameters = "parameters"


class Order(str, Enum):
    """What a list of runs can be sorted by."""

    created_at = "created_at"
    time = "time"
    peak_memory = "peak_memory"
    macs = "macs"
    parameters = "parameters"


COLUMNS = {"time": "wall_seconds", "peak_memory": "peak_memory_bytes"}
"""Columns of the history's table that have a unit in their name; the option uses the names that gates use."""

ModelName = Annotated[str | None, typer.Option(metavar="NAME", help="Only runs of this model.")]
OfKind = Annotated[RunKind | None, typer.Option(help="Only runs of this command.", show_default=False)]
Since = Annotated[str | None, typer.Option(metavar="WHEN", help=f"Only runs since then: {FORMS}.")]
Until = Annotated[str | None, typer.Option(metavar="WHEN", help="Only runs until then; a date includes the whole day.")]
Tag = Annotated[str | None, typer.Option(metavar="TAG", help="Only runs with this tag.")]
Device = Annotated[str | None, typer.Option(metavar="NAME", help="Only runs on this device: its name, or cpu, cuda...")]
Dtype = Annotated[str | None, typer.Option(metavar="NAME", help="Only runs in this dtype.")]
Text = Annotated[str | None, typer.Option(metavar="WORDS", help="Only runs with this text in a name or prompt.")]
Run = Annotated[int, typer.Argument(metavar="RUN", help="The number of a run, from `diffprof history list`.")]


@dataclass(frozen=True)
class RunFilters:
    """Options that select runs."""

    model: ModelName = None
    kind: OfKind = None
    tag: Tag = None
    device: Device = None
    dtype: Dtype = None
    text: Text = None

    def filters(self, since: datetime | None = None, until: datetime | None = None) -> Filters:
        """Convert the options to filters of the history."""
        return Filters(
            model=self.model,
            kind=None if self.kind is None else self.kind.value,
            since=since,
            until=until,
            tag=self.tag,
            device=self.device,
            dtype=dtype_name(self.dtype),
            text=self.text,
        )


@dataclass(frozen=True)
class DatedFilters(RunFilters):
    """Options that select runs, also by time."""

    since: Since = None
    until: Until = None

    def filters(self, since: datetime | None = None, until: datetime | None = None) -> Filters:
        """Convert the options to filters of the history."""
        if self.since is not None:
            since = parse_moment("--since", self.since, _now())
        if self.until is not None:
            until = parse_moment("--until", self.until, _now(), end_of_day=True)
        return super().filters(since, until)


@app.callback(invoke_without_command=True)
def history(context: typer.Context) -> None:
    """Browse runs kept with --keep: list, search, compare, and show trends.

    Without a command, it lists the newest runs. The history is one SQLite file; DIFFPROF_HISTORY or `history` in
    diffprof.toml sets its location.
    """
    if context.invoked_subcommand is None:
        _list(DatedFilters())


@app.command("list")
@expand_groups
def list_runs(
    *,
    which: DatedFilters,
    order: Annotated[Order, typer.Option(help="Sort by this, the newest or largest first.")] = Order.created_at,
    reverse: Annotated[bool, typer.Option("--reverse", help="Sort the oldest or smallest first.")] = False,
    limit: Annotated[int, typer.Option(metavar="N", help="Show at most this many runs.", min=1)] = NEWEST,
    offset: Annotated[int, typer.Option(metavar="N", help="Skip this many runs.", min=0)] = 0,
    output: AnswerOptions,
) -> None:
    """List kept runs, the newest first."""
    output.check()
    _list(which, order, reverse, limit, offset, output)


def _list(
    which: RunFilters,
    order: Order = Order.created_at,
    reverse: bool = False,
    limit: int = NEWEST,
    offset: int = 0,
    output: AnswerOptions = ON_CONSOLE,
) -> None:
    history, filters = History(), which.filters()
    found = history.search(
        filters, limit=limit, offset=offset, order=COLUMNS.get(order.value, order.value), reverse=reverse
    )
    runs = found.runs
    _warn_of_damage(found.damaged)
    total = 0 if output.csv else history.count(filters)
    if output.is_console and not total:
        _print_no_runs(history)
        return
    answer = Answer(
        lambda console: render.print_runs(runs, total, console, offset),
        lambda: render.runs_json(runs, total),
        lambda: render.runs_csv(runs),
        lambda: render.runs_markdown(runs, total, offset),
    )
    output.write(answer)


@app.command()
@expand_groups
def show(
    run: Run,
    output: OutputOptions,
    by: Annotated[SavedTable | None, typer.Option(help="What the rows of the table are.", show_default=False)] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the image kept with the run, as it was generated.")
    ] = None,
) -> None:
    """Print a kept run, as `diffprof show` prints a saved profile."""
    history = History()
    about = history.get_run(run)
    if picture is not None:
        _write_image(history, run, picture)
    heading = "" if output.quiet else render.kept_line(about)
    write_saved(lambda: history.get(run), f"run {run}", by, output, heading)


@app.command()
@expand_groups
def compare(
    runs: Annotated[
        list[int], typer.Argument(metavar="RUN RUN [RUN...]", help="Numbers of runs, from `diffprof history list`.")
    ],
    options: ComparisonOptions,
) -> None:
    """Compare kept runs, with the same output as `diffprof compare`."""
    if len(runs) < 2:
        raise RequestError("Give the numbers of at least two runs to compare.")
    options.check(len(runs))
    history = History()
    profiles = [history.get(run) for run in runs]
    with tempfile.TemporaryDirectory() as folder:
        images = [_save_image(history, run, Path(folder)) for run in runs]
        models = [None] * len(runs)
        write_comparison(profiles, [f"run-{run}" for run in runs], images, options, models, _count)


@app.command()
@expand_groups
def trend(
    *,
    which: DatedFilters,
    metric: Annotated[Metric, typer.Argument(help="The metric to follow.")] = Metric.time,
    limit: Annotated[int, typer.Option(metavar="N", help="Show at most this many series.", min=1)] = 20,
    output: AnswerOptions,
) -> None:
    """Show how a metric changed over runs of the same request on the same device."""
    output.check()
    history = History()
    found = history.trend(COLUMNS.get(metric.value, metric.value), which.filters(), limit=limit)
    if output.is_console and not found.total:
        _print_no_runs(history)
        return
    answer = Answer(
        lambda console: render.print_trend(found, console),
        lambda: render.trend_json(found),
        lambda: render.trend_csv(found),
        lambda: render.trend_markdown(found),
    )
    output.write(answer)


@app.command()
def tag(
    run: Run,
    tags: Annotated[list[str], typer.Argument(metavar="TAG...", help="Tags for the run.")],
    remove: Annotated[bool, typer.Option("--remove", help="Remove the tags instead.")] = False,
) -> None:
    """Add tags to a kept run, or remove them."""
    history = History()
    (history.untag if remove else history.tag)(run, *tags)
    write_text(f"{render.kept_line(history.get_run(run))}\n")


@app.command()
@expand_groups
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv or .parquet file to write.")],
    which: DatedFilters,
    quiet: Quiet = False,
) -> None:
    """Write the metrics of kept runs to a file, one row per run."""
    from diffprof.render import numbers

    count = History().export(file, which.filters())
    print_written(f"{file}: {numbers.times(count, 'run')}", quiet)


@app.command()
def repair(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The new .sqlite file to write.")],
    quiet: Quiet = False,
) -> None:
    """Write a copy of a damaged history, with every run that can still be read.

    The damaged file stays as it is. Name the copy with DIFFPROF_HISTORY, or move it to the damaged file's place.
    """
    repaired = History().repair(file)
    print_written(f"{file}: {render.repaired_line(repaired)}", quiet)


@app.command()
@expand_groups
def prune(
    which: RunFilters,
    keep: Annotated[int | None, typer.Option(metavar="N", help="Delete all but the newest N.", min=0)] = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="WHEN", help="Delete runs older than this: 90d, 12w or a date.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be deleted.")] = False,
) -> None:
    """Delete kept runs that match the filters: the old ones, or all but the newest."""
    if (keep is None) == (older_than is None):
        raise RequestError("Specify --keep N or --older-than WHEN.")
    before = None if older_than is None else parse_moment("--older-than", older_than, _now())
    pruned = History().prune(keep=keep, older_than=before, filters=which.filters(), dry_run=dry_run)
    write_text(f"{render.pruned_line(pruned, dry_run)}\n")


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _warn_of_damage(damaged: Sequence[int]) -> None:
    if damaged:
        print_progress(render.damage_line(damaged))


def _print_no_runs(history: History) -> None:
    if history.count():
        write_text("No kept run matches.\n")
    else:
        write_text(f"Nothing is kept in {history.path} yet; `diffprof profile MODEL --keep` keeps a profile.\n")


def _count(model: str, changes: Mapping[str, Any]) -> Profile:
    raise AssertionError(f"a comparison of kept runs must not count {model}")


def _save_image(history: History, run: int, folder: Path) -> Path | None:
    """Write the image of the run to a file for the comparison; None if none is kept."""
    image = history.picture(run)
    if image is None:
        return None
    file = folder / f"run-{run}.png"
    file.write_bytes(image)
    return file


def _write_image(history: History, run: int, file: Path) -> None:
    from diffprof.record.atomic_files import replace_file

    data = history.picture(run)
    if data is None:
        raise RequestError(f"No image is kept with run {run}.")
    replace_file(file, data)
