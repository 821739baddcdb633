"""A measured run on the console: time, throughput, memory, and the findings last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diffprof.breakdown.memory_peaks import MemoryMoment, memory_moments, memory_table
from diffprof.findings import findings
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.clean import clean
from diffprof.render.columns import Column, fit_columns, print_table
from diffprof.render.console import print_lines, render_text
from diffprof.render.device_tables import device_columns, rank_columns
from diffprof.render.findings import print_findings
from diffprof.render.headline import headline, summary, versions
from diffprof.render.run_sentences import Labelled, device_line, note_lines, require_measured, speed_lines, step_lines
from diffprof.render.run_tables import (
    cache_columns,
    component_columns,
    memory_columns,
    move_columns,
    notable_moments,
    peak_columns,
    section_columns,
    step_columns,
)
from diffprof.render.table_names import RunTable

if TYPE_CHECKING:
    from rich.console import Console

WITH_TOTAL = (RunTable.section, RunTable.component)
"""Tables whose last row is the sum of the others."""
EMPTY_MESSAGES = {
    RunTable.cache: "No cache was in use; `diffprof run MODEL --cache first_block` uses one of diffusers, for a "
    "transformer.",
    RunTable.move: "No weights were moved: nothing was offloaded (`diffprof run MODEL --offload model`).",
    RunTable.rank: "There was one process; `torchrun` starts several.",
}


def print_run(profile: Profile, console: Console, by: RunTable | None = None, verbose: bool = False) -> None:
    """Print what was measured: one table, or every table that has rows."""
    measured = require_measured(profile)
    print_heading(profile, console)
    if by is not None:
        _print_table(profile, by, console)
        return
    for table in (RunTable.section, RunTable.component):
        _print_table_with_title(profile, table, console, verbose)
    print_lines(step_lines(profile, console.options.ascii_only), console)
    for table in (RunTable.memory, RunTable.device, RunTable.cache, RunTable.move, RunTable.rank):
        _print_table_with_title(profile, table, console, verbose)
    print_lines([*note_lines(profile, measured, with_devices=False), *_count_lines(profile, verbose)], console)
    print_findings(findings(profile), console)


def run_text(
    profile: Profile, width: int = 100, by: RunTable | None = None, verbose: bool = False, encoding: str = "utf-8"
) -> str:
    """A measured run as plain text, using only characters that `encoding` has."""
    return render_text(lambda console: print_run(profile, console, by, verbose), width, encoding)


def print_heading(profile: Profile, console: Console) -> None:
    """Print the request, the device, the time and the throughput."""
    from rich.text import Text

    measured = require_measured(profile)
    console.print(Text(clean(headline(profile)), style="bold"))
    console.print(Text(clean(device_line(profile, measured.device)), style="dim"))
    console.print()
    print_lines(speed_lines(profile, measured), console)


def _print_table_with_title(profile: Profile, by: RunTable, console: Console, verbose: bool) -> None:
    """Print the table under its title; nothing if it has no rows."""
    from rich.text import Text

    columns = _columns(profile, by, console, verbose)
    # If the memory never changed, the line below the tables shows its one value.
    constant = by is RunTable.memory and all(len(set(column.cells)) == 1 for column in columns[1:])
    if columns[0].cells and not (constant and len(columns[0].cells) > 1):
        console.print(Text(_title(profile, by), style="bold"))
        _print_columns(columns, by, console)


def _print_table(profile: Profile, by: RunTable, console: Console) -> None:
    from rich.text import Text

    columns = _columns(profile, by, console, verbose=True)
    if not columns[0].cells:
        console.print(Text(EMPTY_MESSAGES.get(by, f"There is nothing to show by {by.value}.")))
        return
    _print_columns(columns, by, console)
    left_out = len(memory_moments(profile)) - len(columns[0].cells) if by is RunTable.memory else 0
    if left_out:
        console.print(Text(f"{numbers.times(left_out, 'moment')} left out, within 1 % of those above; --csv has all."))


def _print_columns(columns: Sequence[Column], by: RunTable, console: Console) -> None:
    print_table(fit_columns(columns, console.width), console, total=by in WITH_TOTAL)
    console.print()


def _columns(profile: Profile, by: RunTable, console: Console, verbose: bool) -> list[Column]:
    ascii_only = console.options.ascii_only
    if by is RunTable.memory:
        return memory_columns(notable_moments(memory_moments(profile)) if verbose else _last_moments(profile))
    if by is RunTable.peak:
        return peak_columns(memory_table(profile))
    views = {
        RunTable.section: section_columns,
        RunTable.component: component_columns,
        RunTable.step: step_columns,
        RunTable.cache: cache_columns,
        RunTable.move: move_columns,
        RunTable.device: device_columns,
        RunTable.rank: rank_columns,
    }
    return views[by](profile, ascii_only)


def _last_moments(profile: Profile) -> list[MemoryMoment]:
    """The moments of the last iteration: it resembles the others, and includes memory that they did not free."""
    measured, moments = require_measured(profile), memory_moments(profile)
    last = [number for number, one in enumerate(measured.iterations) if one is measured.timed_iterations[-1]]
    return [moment for moment in moments if moment.iteration in last]


def _title(profile: Profile, by: RunTable) -> str:
    timed = len(require_measured(profile).timed_iterations)
    iterations = numbers.times(timed, "iteration")
    return {
        RunTable.section: f"Sections of {iterations}",
        RunTable.component: f"Components in one generation, mean of {iterations}",
        RunTable.memory: "Memory in the last iteration",
        RunTable.cache: f"Caches in {iterations}",
        RunTable.move: f"Weights moved in {iterations}",
        RunTable.device: "Devices",
        RunTable.rank: "Ranks in one generation",
    }[by]


def _count_lines(profile: Profile, verbose: bool) -> list[Labelled]:
    """The counts of one generation; all of them with --verbose."""
    if not profile.calls:
        return []
    (_, total), *more = summary(profile, verbose)
    return [("Counted", total), *([*more, ("Versions", versions(profile))] if verbose else more[:1])]
