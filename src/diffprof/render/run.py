"""A measured run on the console: where the time went, what it achieved, what it held, and last what stands out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diffprof.breakdown.memory import MemoryMoment, memory_moments, memory_table
from diffprof.findings import findings
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.clean import clean
from diffprof.render.columns import Column, fitting, print_table
from diffprof.render.console import as_text, print_labelled
from diffprof.render.findings import print_findings
from diffprof.render.headline import headline, summary
from diffprof.render.run_sentences import Labelled, closing, measured_part, opening, step_lines, where_it_ran
from diffprof.render.run_views import (
    RunBy,
    cache_columns,
    component_columns,
    memory_columns,
    move_columns,
    peak_columns,
    section_columns,
    step_columns,
)
from diffprof.render.timing_file import timing_text

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_heading", "print_lines", "print_run", "run_text", "timing_text"]

WITH_A_SUM = (RunBy.section, RunBy.component)


def print_run(profile: Profile, console: Console, by: RunBy | None = None, verbose: bool = False) -> None:
    """Print what was measured: the table that was asked for, or all that have something to show."""
    measured = measured_part(profile)
    print_heading(profile, console)
    if by is not None:
        _print_table(profile, by, console)
        return
    for table in (RunBy.section, RunBy.component):
        _print_titled(profile, table, console, verbose)
    print_lines(step_lines(profile, console.options.ascii_only), console)
    for table in (RunBy.memory, RunBy.cache, RunBy.move):
        _print_titled(profile, table, console, verbose)
    print_lines([*closing(profile, measured), *_counted(profile, verbose)], console)
    print_findings(findings(profile), console)


def run_text(
    profile: Profile, width: int = 100, by: RunBy | None = None, verbose: bool = False, encoding: str = "utf-8"
) -> str:
    """The same as plain text, without colours, for files and pipes; only with signs that `encoding` has."""
    return as_text(lambda console: print_run(profile, console, by, verbose), width, encoding)


def print_heading(profile: Profile, console: Console) -> None:
    """What was asked for, where it ran, how long that took and how fast it was."""
    from rich.text import Text

    measured = measured_part(profile)
    console.print(Text(clean(headline(profile)), style="bold"))
    console.print(Text(clean(where_it_ran(profile, measured.device)), style="dim"))
    console.print()
    print_lines(opening(profile, measured), console)


def print_lines(lines: Sequence[Labelled], console: Console) -> None:
    """Lines with their labels, and an empty one below them."""
    before = ""
    for label, line in lines:
        print_labelled(console, "" if label == before else label, line)
        before = label
    if lines:
        console.print()


def _print_titled(profile: Profile, by: RunBy, console: Console, verbose: bool) -> None:
    """The table under its title; nothing where it has no rows."""
    from rich.text import Text

    columns = _columns(profile, by, console, verbose)
    if columns[0].cells:
        console.print(Text(_title(profile, by), style="bold"))
        _print_columns(columns, by, console)


def _print_table(profile: Profile, by: RunBy, console: Console) -> None:
    from rich.text import Text

    columns = _columns(profile, by, console, verbose=True)
    if columns[0].cells:
        _print_columns(columns, by, console)
    else:
        console.print(Text(f"There is nothing to show by {by.value}."))


def _print_columns(columns: Sequence[Column], by: RunBy, console: Console) -> None:
    print_table(fitting(columns, console.width), console, total=by in WITH_A_SUM)
    console.print()


def _columns(profile: Profile, by: RunBy, console: Console, verbose: bool) -> list[Column]:
    ascii_only = console.options.ascii_only
    if by is RunBy.memory:
        return memory_columns(memory_moments(profile) if verbose else _last_moments(profile))
    if by is RunBy.peak:
        return peak_columns(memory_table(profile))
    views = {
        RunBy.section: section_columns,
        RunBy.component: component_columns,
        RunBy.step: step_columns,
        RunBy.cache: cache_columns,
        RunBy.move: move_columns,
    }
    return views[by](profile, ascii_only)


def _last_moments(profile: Profile) -> list[MemoryMoment]:
    """Those of one iteration, to which the others are alike; the last of them, as what was not freed adds up."""
    measured, moments = measured_part(profile), memory_moments(profile)
    last = [number for number, one in enumerate(measured.iterations) if one is measured.timed[-1]]
    return [moment for moment in moments if moment.iteration in last]


def _title(profile: Profile, by: RunBy) -> str:
    timed = len(measured_part(profile).timed)
    iterations = numbers.times(timed, "iteration")
    return {
        RunBy.section: f"Sections of {iterations}",
        RunBy.component: "Components in one generation",
        RunBy.memory: "Memory in the last iteration",
        RunBy.cache: f"Caches in {iterations}",
        RunBy.move: f"Weights that were moved in {iterations}",
    }[by]


def _counted(profile: Profile, verbose: bool) -> list[Labelled]:
    """What was counted for one generation; --verbose has all of it."""
    if not profile.calls:
        return []
    (_, total), *more = summary(profile, verbose)
    return [("Counted", total), *(more if verbose else more[:1])]
