"""``diffprof compare A B [C ...]``"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diffprof.cli.progress import progress_bar
from diffprof.cli.request import VALUES, call_arguments, dtype_name
from diffprof.cli.sources import labels, opened, picture_beside, saved_file
from diffprof.cli.terminal import write_shown, write_text
from diffprof.comparison.views.data import By
from diffprof.comparison.views.tables import TOP
from diffprof.errors import RequestError

if TYPE_CHECKING:
    from diffprof.comparison import Comparison
    from diffprof.record.profile import Profile

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def compare(
    profiles: Annotated[
        list[str],
        typer.Argument(metavar="A B [C...]", help="Saved profiles, models, or both; each is held against the first."),
    ],
    height: Annotated[str | None, typer.Option(metavar="PIXELS", help="Height of the picture, for models.")] = None,
    width: Annotated[str | None, typer.Option(metavar="PIXELS", help="Width of the picture, for models.")] = None,
    steps: Annotated[str | None, typer.Option(metavar="N", help="Denoising steps, for models.")] = None,
    guidance: Annotated[str | None, typer.Option(metavar="SCALE", help="Guidance scale, for models.")] = None,
    batch: Annotated[str | None, typer.Option(metavar="N", help="Images for each prompt, for models.")] = None,
    frames: Annotated[str | None, typer.Option(metavar="N", help="Frames of a video, for models.")] = None,
    dtype: Annotated[str | None, typer.Option(metavar="NAME", help="float32, float16 or bfloat16, for models.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help=f"Any call argument, for models. {VALUES} Repeatable."),
    ] = None,
    picture: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="What each made, in their order; else what lies beside a profile."),
    ] = None,
    side_by_side: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Write the pictures side by side.")
    ] = None,
    by: Annotated[By | None, typer.Option(help="The table for --csv.", show_default=False)] = None,
    top: Annotated[int, typer.Option(metavar="N", help="Rows of calls, operations and modules at most.")] = TOP,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print one table as CSV.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print it as Markdown, for a pull request.")] = False,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all of it as one page with figures, too; models are counted at more."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no messages; errors only.")] = False,
) -> None:
    """Say what differs between profiles: conditions first, then what was counted, then what was measured.

    Saved profiles are read without torch. A model is counted as `diffprof profile` counts it.
    """
    _check(profiles, picture, by, top, json, csv, markdown)
    _check_places(side_by_side, html)
    arguments = call_arguments(
        {
            "height": height,
            "width": width,
            "num_inference_steps": steps,
            "guidance_scale": guidance,
            "num_images_per_prompt": batch,
            "num_frames": frames,
        },
        settings or (),
    )
    asked = Question(profiles, arguments, dtype_name(dtype), quiet)
    shown: Sequence[Path | None] = picture or [picture_beside(name) for name in profiles]
    made = asked.compared(shown)
    if side_by_side is not None:
        _write(side_by_side, _in_a_row([one for one in shown if one]), quiet)
    if html is not None:
        _write(html, asked.page(made), quiet)
    if json or csv:
        from diffprof.comparison.views.data import comparison_csv, comparison_json

        write_text(comparison_json(made) if json else comparison_csv(made, by or By.profile))
        return
    from diffprof.comparison.views.console import comparison_markdown, print_comparison

    if markdown:
        write_text(comparison_markdown(made, top))
    else:
        write_shown(lambda console: print_comparison(made, console, top))


def _check(
    profiles: Sequence[str],
    pictures: Sequence[Path] | None,
    by: By | None,
    top: int,
    json: bool,
    csv: bool,
    markdown: bool,
) -> None:
    """Before anything is counted: what contradicts itself."""
    if len(profiles) < 2:
        raise RequestError("A comparison needs two profiles or models or more; give a second one.")
    if json + csv + markdown > 1:
        raise RequestError("--json, --csv and --markdown exclude each other; choose one.")
    if by is not None and not csv:
        raise RequestError("--by chooses the table for --csv; without that it means nothing.")
    if top < 1:
        raise RequestError(f"--top must be 1 or more, not {top}.")
    if pictures and len(pictures) != len(profiles):
        raise RequestError(f"--picture is given {len(pictures)} times for {len(profiles)} profiles; give one for each.")


def _check_places(side_by_side: Path | None, html: Path | None) -> None:
    """Before anything is counted: whether there is a place for what is to be written."""
    if html is not None:
        from diffprof.render.charts.style import graph_objects

        graph_objects()
    if side_by_side is not None and html is not None and side_by_side.resolve() == html.resolve():
        raise RequestError("--html and --side-by-side name the same file; name another one.")
    from diffprof.cli.output import check_place

    for target in (side_by_side, html):
        if target is not None:
            check_place(target)


@dataclass(frozen=True)
class Question:
    """What is to be compared, and how models are asked for."""

    names: Sequence[str]
    arguments: dict[str, Any]
    dtype: str | None
    quiet: bool

    def compared(self, pictures: Sequence[Path | None]) -> Comparison:
        from diffprof.comparison import compare as compare_profiles

        found = [opened(name, self.counted) for name in self.names]
        first, *others = pictures
        pairs = [(first, other) for other in others if first and other]
        differences = []
        if pairs:
            # Pictures need numpy and pillow; figures alone do not.
            from diffprof.comparison.pictures import picture_difference

            differences = [picture_difference(*pair) for pair in pairs]
        return compare_profiles(found, labels(self.names), differences)

    def page(self, made: Comparison) -> bytes:
        """The comparison as HTML, with the models counted at more sizes and steps."""
        from diffprof.comparison.curves import growth
        from diffprof.comparison.views.page import comparison_html

        sources = [name if saved_file(name) is None else None for name in self.names]
        files = {name for pair in made.pictures for name in (pair.before, pair.after)}
        pictures = {name: Path(name).read_bytes() for name in files}
        return comparison_html(made, pictures, growth(sources, made.names, made.profiles, self.counted)).encode()

    def counted(self, model: str, more: Mapping[str, Any] | None = None) -> Profile:
        from diffprof.counting.cached import Asked, counted

        asked = Asked(model, self.dtype, None, (), {**self.arguments, **(more or {})})
        return counted(asked, use_cache=True, progress=lambda: progress_bar(self.quiet))


def _in_a_row(pictures: Sequence[Path]) -> bytes:
    if len(pictures) < 2:
        raise RequestError("--side-by-side needs the pictures of two profiles or more; give them with --picture.")
    from diffprof.comparison.pictures import side_by_side

    return side_by_side(list(pictures))


def _write(target: Path, made: bytes, quiet: bool) -> None:
    from diffprof.record.atomic_files import replace_file

    replace_file(target, made)
    if not quiet:
        sys.stderr.write(f"Wrote {target}\n")
