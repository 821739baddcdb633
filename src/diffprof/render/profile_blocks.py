"""A profile as blocks of sentences and tables, for notebooks and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diffprof.breakdown.memory_peaks import memory_moments, memory_table
from diffprof.findings import findings
from diffprof.record.profile import Profile
from diffprof.render.blocks import Block
from diffprof.render.columns import Column
from diffprof.render.device_tables import device_columns, rank_columns
from diffprof.render.findings import code_lines, finding_lines
from diffprof.render.headline import composition, headline, summary
from diffprof.render.profile_tables import fit_profile_table
from diffprof.render.report.html_table import WIDE
from diffprof.render.run_sentences import device_line, note_lines, require_measured, speed_lines
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
from diffprof.render.table_names import DEFAULT_DEPTH, ProfileTable, RunTable

RUN_TABLES: dict[RunTable, Callable[[Profile], list[Column]]] = {
    RunTable.section: lambda profile: section_columns(profile, ascii_only=False),
    RunTable.component: lambda profile: component_columns(profile, ascii_only=False),
    RunTable.step: lambda profile: step_columns(profile, ascii_only=False, with_bars=False),
    RunTable.memory: lambda profile: memory_columns(notable_moments(memory_moments(profile))),
    RunTable.peak: lambda profile: peak_columns(memory_table(profile)),
    RunTable.cache: lambda profile: cache_columns(profile, ascii_only=True),
    RunTable.move: lambda profile: move_columns(profile, ascii_only=True),
    RunTable.device: lambda profile: device_columns(profile, ascii_only=True),
    RunTable.rank: lambda profile: rank_columns(profile, ascii_only=True),
}


def counted_blocks(
    profile: Profile, by: ProfileTable = ProfileTable.component, depth: int = DEFAULT_DEPTH, verbose: bool = False
) -> list[Block]:
    """The counts of a profile: one table, and the sentences below it."""
    table = fit_profile_table(profile, by, 0 if by is ProfileTable.component else depth, WIDE)
    return [
        Block(headline(profile), [composition(profile)], table.columns, has_total=by is ProfileTable.component),
        Block(lines=_join(summary(profile, verbose))),
    ]


def measured_blocks(profile: Profile, by: RunTable | None = None) -> list[Block]:
    """The measurements of a profile: one table, or the most important ones with the findings."""
    measured = require_measured(profile)
    lines = [device_line(profile, measured.device), *_join(speed_lines(profile, measured))]
    if by is not None:
        return [Block(headline(profile), lines, RUN_TABLES[by](profile))]
    found = [finding_lines(finding) for finding in findings(profile)]
    return [
        Block(headline(profile), lines, RUN_TABLES[RunTable.component](profile), has_total=True),
        Block("Sections", (), RUN_TABLES[RunTable.section](profile), has_total=True),
        Block("Memory", (), RUN_TABLES[RunTable.peak](profile)),
        *(
            Block(f"{number}. {one.title}", [one.evidence, one.advice, *code_lines(one)])
            for number, one in enumerate(found, 1)
        ),
        Block(lines=_join(note_lines(profile, measured))),
    ]


def _join(lines: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{label}: {line}" if label else line for label, line in lines]
