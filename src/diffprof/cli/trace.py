"""``diffprof trace FILE...``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof.cli.terminal import print_written, write_rendered, write_text
from diffprof.errors import RequestError
from diffprof.record.atomic_files import check_writable
from diffprof.traces.request import GAP_MICROSECONDS, TraceRequest, explain_request, trace_files
from diffprof.traces.result import TraceResult
from diffprof.traces.views.console import TOP, print_result
from diffprof.traces.views.tables import TraceBy

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def trace(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Traces of torch.profiler, .json or .json.gz, or their folder; several are the ranks of one run.",
        ),
    ],
    against: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare with this trace: show what changed since.")
    ] = None,
    by: Annotated[
        TraceBy | None, typer.Option(help="Show one table only, or choose the one for --csv.", show_default=False)
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", help="Show at most this many rows of a table.")] = TOP,
    gap: Annotated[
        float, typer.Option(metavar="MICROSECONDS", help="Sum up gaps shorter than this, without their causes.")
    ] = GAP_MICROSECONDS,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print one table as CSV.")] = False,
    overlay: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a copy of the trace with the findings as tracks, for ui.perfetto.dev."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write everything as one page with charts.")
    ] = None,
) -> None:
    """Explain a trace of torch.profiler: where the GPU time went, why the GPU was idle, what to do about it.

    Nothing is run, and torch is not needed. Traces of any size are read in bounded memory.
    """
    if json and csv:
        raise RequestError("--json and --csv exclude each other; choose one.")
    if top < 1:
        raise RequestError(f"--top must be 1 or more, not {top}.")
    if against is not None and by is not None:
        raise RequestError("--by cannot be used with --against; leave one out.")
    request = TraceRequest(trace_files(files), against, gap, overlay, html)
    if html is not None:
        _check_page(html)
    result = explain_request(request)
    if overlay is not None:
        print_written(overlay)
    if html is not None:
        _write_page(result, html)
    if json or csv:
        from diffprof.traces.views.data import result_csv, result_json

        write_text(result_json(result) if json else result_csv(result, by or TraceBy.timeline))
    else:
        write_rendered(lambda console: print_result(result, console, by, top))


def _check_page(html: Path) -> None:
    """Find out before minutes of reading whether the page can be drawn and written."""
    from diffprof.render.charts.style import graph_objects

    graph_objects()
    check_writable(html)


def _write_page(result: TraceResult, html: Path) -> None:
    from diffprof.record.atomic_files import replace_file
    from diffprof.traces.views.page import result_html

    replace_file(html, result_html(result).encode())
    print_written(html)
