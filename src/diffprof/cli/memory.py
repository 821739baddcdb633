"""``diffprof memory SNAPSHOT``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof.cli.terminal import print_written, write_rendered, write_text
from diffprof.errors import RequestError
from diffprof.record.atomic_files import check_writable, replace_file
from diffprof.traces.memory.explain import explain_snapshot
from diffprof.traces.memory.page import snapshot_html
from diffprof.traces.memory.views import print_snapshot, snapshot_json

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

TOP = 15


@app.command()
def memory(
    snapshot: Annotated[Path, typer.Argument(metavar="SNAPSHOT", help="A pickle of torch.cuda.memory._dump_snapshot.")],
    top: Annotated[int, typer.Option(metavar="N", help="Show at most this many rows of a table.")] = TOP,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write everything as one page.")] = None,
) -> None:
    """Explain a memory snapshot of torch: the peak, whose memory it was, fragmentation, and what failed.

    The file is not unpickled: a reader builds plain containers from it, and refuses everything else.
    """
    if top < 1:
        raise RequestError(f"--top must be 1 or more, not {top}.")
    if html is not None:
        check_writable(html)
    devices = explain_snapshot(snapshot)
    if html is not None:
        replace_file(html, snapshot_html(devices, snapshot.name).encode())
        print_written(html)
    if json:
        write_text(snapshot_json(devices))
    else:
        write_rendered(lambda console: print_snapshot(devices, console, top))
