"""``diffprof trace FILE...``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof.cli.options.groups import expand_groups
from diffprof.cli.output.answer import Answer, PageOptions
from diffprof.cli.output.terminal import print_written
from diffprof.errors import RequestError
from diffprof.record.atomic_files import check_writable, replace_file
from diffprof.render.charts.style import graph_objects
from diffprof.traces.request import GAP_MICROSECONDS, TraceRequest, explain_request, trace_files
from diffprof.traces.result import TraceResult
from diffprof.traces.views.console import TOP, print_result, result_markdown
from diffprof.traces.views.tables import TraceBy

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


TraceFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="Traces of torch.profiler, .json or .json.gz, or their folder; several are the ranks of one run.",
    ),
]
Overlay = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a copy of the trace with the findings as tracks, for ui.perfetto.dev."),
]


@app.command()
@expand_groups
def trace(
    *,
    files: TraceFiles,
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
    output: PageOptions,
    overlay: Overlay = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write everything as one page with charts.")
    ] = None,
) -> None:
    """Explain a torch.profiler trace: where the GPU time went, why the GPU sat idle, what to do about it.

    Nothing is run, and torch is not needed. Traces of any size are read in bounded memory.
    """
    output.check()
    if top < 1:
        raise RequestError(f"--top must be 1 or more, not {top}.")
    if against is not None and by is not None:
        raise RequestError("--by cannot be used with --against; leave one out.")
    request = TraceRequest(trace_files(files), against, gap, overlay, html, output.file)
    if html is not None:
        graph_objects()
        check_writable(html)
    result = explain_request(request)
    if overlay is not None:
        print_written(overlay, output.quiet)
    if html is not None:
        replace_file(html, _page(result))
        print_written(html, output.quiet)
    output.write(_answer(result, by, top))


def _answer(result: TraceResult, by: TraceBy | None, top: int) -> Answer:
    def csv() -> str:
        from diffprof.traces.views.data import result_csv

        return result_csv(result, by or TraceBy.timeline)

    def json() -> str:
        from diffprof.traces.views.data import result_json

        return result_json(result)

    return Answer(
        lambda console: print_result(result, console, by, top),
        json,
        csv,
        lambda: result_markdown(result, by, top),
        {".html": lambda: _page(result)},
    )


def _page(result: TraceResult) -> bytes:
    from diffprof.traces.views.page import result_html

    return result_html(result).encode()
