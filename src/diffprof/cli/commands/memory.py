"""``diffprof memory SNAPSHOT``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffprof.cli.options.groups import expand_groups
from diffprof.cli.output.answer import Answer, PageOptions
from diffprof.cli.output.terminal import print_written
from diffprof.errors import RequestError
from diffprof.record.atomic_files import check_writable, replace_file
from diffprof.traces.memory import views
from diffprof.traces.memory.explain import explain_snapshot
from diffprof.traces.memory.page import snapshot_html

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

TOP = 15


@app.command()
@expand_groups
def memory(
    *,
    snapshot: Annotated[Path, typer.Argument(metavar="SNAPSHOT", help="A pickle of torch.cuda.memory._dump_snapshot.")],
    top: Annotated[int, typer.Option(metavar="N", help="Show at most this many rows of a table.")] = TOP,
    output: PageOptions,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write everything as one page.")] = None,
) -> None:
    """Explain a PyTorch memory snapshot: the peak, what held it, fragmentation, and failed allocations.

    The file is not unpickled: a reader builds plain containers from it, and refuses everything else.
    """
    output.check()
    if top < 1:
        raise RequestError(f"--top must be 1 or more, not {top}.")
    if html is not None:
        check_writable(html)
    devices = explain_snapshot(snapshot)

    def page() -> bytes:
        return snapshot_html(devices, snapshot.name).encode()

    if html is not None:
        replace_file(html, page())
        print_written(html, output.quiet)
    answer = Answer(
        lambda console: views.print_snapshot(devices, console, top),
        lambda: views.snapshot_json(devices),
        lambda: views.snapshot_csv(devices),
        lambda: views.snapshot_markdown(devices, top),
        {".html": page},
    )
    output.write(answer)
