"""``diffprof trace FILE...``"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffprof.cli.terminal import write_shown, write_text
from diffprof.errors import RequestError
from diffprof.traces.views.console import TOP
from diffprof.traces.views.tables import By

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diffprof.traces.facts import TraceReport

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def trace(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Traces of torch.profiler, .json or .json.gz; several are ranks of one run."
        ),
    ],
    against: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Say what changed from this trace to the one given.")
    ] = None,
    by: Annotated[
        By | None, typer.Option(help="Show one table only, or choose the one for --csv.", show_default=False)
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", help="Rows of a table at most.")] = TOP,
    gap: Annotated[
        float, typer.Option(metavar="MICROSECONDS", help="Shorter gaps are told together, without their causes.")
    ] = 10,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print one table as CSV.")] = False,
    overlay: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the trace again with the findings as marks, for ui.perfetto.dev."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all of it as one page with figures, too.")
    ] = None,
) -> None:
    """Say what a trace of torch.profiler shows: where the GPU's time went, why it was idle, what to do.

    Nothing is run, and torch is not needed. Traces of any size are read in bounded memory.
    """
    _check(files, against, by, top, gap, json, csv, overlay)
    _check_places([*files, *([against] if against else [])], overlay, html)
    from diffprof.traces.analysis.explanation import trace_report

    threshold = round(gap * 1000)
    reports = [trace_report(file, threshold) for file in files]
    before = trace_report(against, threshold) if against is not None else None
    if overlay is not None:
        _write_overlay(files[0], reports[0], overlay)
    if html is not None:
        _write_page(reports, before, html)
    if before is not None:
        _show_comparison(before, reports[0], json, csv, top)
    elif csv:
        from diffprof.traces.views.plain import traces_csv

        write_text(traces_csv(reports, by or By.timeline))
    elif len(reports) > 1:
        _show_ranks(reports, json, by, top)
    else:
        _show(reports, json, by, top)


def _check(
    files: Sequence[Path],
    against: Path | None,
    by: By | None,
    top: int,
    gap: float,
    json: bool,
    csv: bool,
    overlay: Path | None,
) -> None:
    """Before minutes of reading: what contradicts itself."""
    if json and csv:
        raise RequestError("--json and --csv exclude each other; choose one.")
    if top < 1:
        raise RequestError(f"--top must be 1 or more, not {top}.")
    if not 0 <= gap < 1e9:
        raise RequestError(f"--gap must be a number of microseconds of 0 or more, not {gap:g}.")
    if len(files) > 1 and (against is not None or overlay is not None):
        option = "--against" if against is not None else "--overlay"
        raise RequestError(f"{option} takes one trace, not {len(files)}.")
    if against is not None and by is not None:
        raise RequestError("--by means nothing for --against; leave one out.")
    if len({file.resolve() for file in files}) < len(files):
        raise RequestError("The same trace is given twice; leave one out.")


def _check_places(files: Sequence[Path], overlay: Path | None, html: Path | None) -> None:
    """Before minutes of reading: whether there is a place for what is to be written."""
    from diffprof.cli.output import check_place

    if html is None:
        return
    from diffprof.render.charts.style import graph_objects

    graph_objects()
    if overlay is not None and overlay.resolve() == html.resolve():
        raise RequestError("--html and --overlay name the same file; name another one.")
    if html.resolve() in {file.resolve() for file in files}:
        raise RequestError(f"{html} is the trace itself; name another file for --html.")
    check_place(html)


def _show(reports: Sequence[TraceReport], json: bool, by: By | None, top: int) -> None:
    if json:
        from diffprof.traces.views.plain import traces_json

        write_text(traces_json(reports))
        return
    from diffprof.traces.views.console import print_trace

    write_shown(lambda console: print_trace(reports[0], console, by, top))


def _show_ranks(reports: Sequence[TraceReport], json: bool, by: By | None, top: int) -> None:
    from diffprof.traces.analysis.ranks import compare_ranks

    ranks = compare_ranks(reports)
    if json:
        from diffprof.traces.views.plain import traces_json

        write_text(traces_json(reports, ranks=ranks))
        return
    from diffprof.traces.views.console import print_ranks, print_trace

    if by is None:
        write_shown(lambda console: print_ranks(ranks, reports, console))
        return
    for number, report in enumerate(reports):
        if number:
            write_text("\n")
        write_shown(lambda console, report=report: print_trace(report, console, by, top))  # type: ignore[misc]


def _show_comparison(before: TraceReport, after: TraceReport, json: bool, csv: bool, top: int) -> None:
    from diffprof.traces.analysis.comparison import compare_traces

    made = compare_traces(before, after)
    if json or csv:
        from diffprof.traces.views.plain import comparison_csv, traces_json

        write_text(comparison_csv(made) if csv else traces_json([before, after], comparison=made))
        return
    from diffprof.traces.views.console import print_comparison

    write_shown(lambda console: print_comparison(made, console, top))


def _write_page(reports: Sequence[TraceReport], before: TraceReport | None, target: Path) -> None:
    from diffprof.record.atomic_files import replace_file
    from diffprof.traces.views.page import ranks_html, trace_comparison_html, trace_html

    if before is not None:
        from diffprof.traces.analysis.comparison import compare_traces

        page = trace_comparison_html(compare_traces(before, reports[0]))
    elif len(reports) > 1:
        from diffprof.traces.analysis.ranks import compare_ranks

        page = ranks_html(compare_ranks(reports), reports)
    else:
        page = trace_html(reports[0])
    replace_file(target, page.encode())
    sys.stderr.write(f"Wrote {target}\n")


def _write_overlay(file: Path, report: TraceReport, target: Path) -> None:
    from diffprof.traces.overlay import write_overlay
    from diffprof.traces.views.marks import marks

    write_overlay(file, marks(report), target)
