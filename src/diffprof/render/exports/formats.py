"""The formats that a profile can be exported to. An entry in `EXPORTS` adds a format to every command.

A format with endings is chosen by the name of the file: ``-o FILE`` of ``diffprof profile``, ``run`` and ``show``.
A format without endings becomes an option of ``diffprof report``: ``--speedscope FILE``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from diffprof.record.profile import Profile
from diffprof.render.table_names import DEFAULT_DEPTH, ProfileTable, RunTable

TEXT_FILE_WIDTH = 100


@dataclass(frozen=True)
class View:
    """A profile and what to show of it: the only input of a renderer."""

    profile: Profile
    table: ProfileTable | RunTable | None = ProfileTable.component
    """A table of the counts or of the measured run; None for all tables of the run."""
    depth: int = DEFAULT_DEPTH
    verbose: bool = False
    width: int = TEXT_FILE_WIDTH
    encoding: str = "utf-8"
    """The encoding that text is limited to."""


@dataclass(frozen=True)
class ExportFormat:
    """One way of writing a profile to a file."""

    name: str
    help: str
    """The help of the option."""
    render: Callable[[View], str]
    endings: tuple[str, ...] = ()


# Renderers are imported when used: the list of formats is also read for --help, which must be fast.
def _json(view: View) -> str:
    from diffprof.record.files import dumps

    return dumps(view.profile)


def _csv(view: View) -> str:
    from diffprof.render.exports.tables import profile_csv, run_csv

    if isinstance(view.table, ProfileTable):
        return profile_csv(view.profile, view.table, view.depth)
    return run_csv(view.profile, view.table or RunTable.section)


def _text(view: View) -> str:
    if isinstance(view.table, ProfileTable):
        from diffprof.render.profile_console import profile_text

        return profile_text(view.profile, view.width, view.table, view.depth, view.verbose, view.encoding)
    from diffprof.render.run_console import run_text

    return run_text(view.profile, view.width, view.table, view.verbose, view.encoding)


def _markdown(view: View) -> str:
    from diffprof.render.blocks import markdown
    from diffprof.render.profile_blocks import counted_blocks, measured_blocks

    if isinstance(view.table, ProfileTable):
        return markdown(counted_blocks(view.profile, view.table, view.depth, view.verbose))
    return markdown(measured_blocks(view.profile, view.table))


def _speedscope(view: View) -> str:
    from diffprof.render.exports.speedscope import speedscope_json

    return speedscope_json(view.profile)


def _chrome_trace(view: View) -> str:
    from diffprof.render.exports.chrome_trace import chrome_trace_json

    return chrome_trace_json(view.profile)


EXPORTS = (
    ExportFormat("json", "The saved profile.", _json, endings=(".json", ".json.gz")),
    ExportFormat("csv", "The table as CSV.", _csv, endings=(".csv",)),
    ExportFormat("markdown", "The same as Markdown.", _markdown, endings=(".md",)),
    ExportFormat("text", "What the console shows.", _text, endings=(".txt",)),
    ExportFormat("speedscope", "Write the timeline for speedscope.app, of one profile.", _speedscope),
    ExportFormat("chrome-trace", "Write the timeline for ui.perfetto.dev, of one profile.", _chrome_trace),
)
"""All formats."""

FORMATS = {entry.name: entry for entry in EXPORTS}
ENDINGS = {ending: entry for entry in FORMATS.values() for ending in entry.endings}


def format_for(file: Path) -> ExportFormat | None:
    """The format for the ending of the file's name; None if it is unknown."""
    return next((entry for ending, entry in ENDINGS.items() if file.name.lower().endswith(ending)), None)


def report_formats() -> list[ExportFormat]:
    """The formats that are options of ``diffprof report``."""
    return [entry for entry in FORMATS.values() if not entry.endings]


def write_export(view: View, entry: ExportFormat, file: Path) -> None:
    """Write the view to the file, compressed if its name ends in ``.gz``; an existing file is replaced."""
    from diffprof.record.atomic_files import replace_file
    from diffprof.record.files import compress

    content = entry.render(view).encode("utf-8", "backslashreplace")
    replace_file(file, compress(content) if file.name.lower().endswith(".gz") else content)
