"""``diffprof gate BASELINE CANDIDATE``"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffprof.cli.options import completion
from diffprof.cli.options.declarations import AsMarkdown, Quiet
from diffprof.cli.options.groups import expand_groups
from diffprof.cli.output.formats import check_ending, check_formats
from diffprof.cli.output.progress import progress_bar
from diffprof.cli.output.terminal import print_written, write_rendered, write_text
from diffprof.cli.sources import load_saved_profile
from diffprof.counting.sources import open_profile
from diffprof.errors import FileFormatError, FileProblem, OutputError, RequestError

if TYPE_CHECKING:
    from diffprof.comparison.gate import Gate
    from diffprof.record.profile import Profile

ENDINGS = (".md", ".json", ".txt", ".xml")

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True)
class OutcomeOptions:
    """Options for the format of the outcome, and the files to write."""

    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False
    markdown: AsMarkdown = False
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Also write the outcome to a .md, .json, .txt or .xml file (JUnit). Repeatable.",
        ),
    ] = None
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the limits as JUnit test cases.")] = None
    quiet: Quiet = False

    def check(self) -> None:
        """Refuse contradicting formats and unwritable files, before anything is counted."""
        check_formats(self.json, csv=False, markdown=self.markdown)
        _check_files(list(_targets(self.files or [], self.junit)))

    def write(self, outcome: Gate, names: Sequence[str]) -> None:
        """Write the outcome to the files, and print it."""
        from diffprof.comparison.views import gate as render
        from diffprof.record.atomic_files import replace_file

        pair = outcome.pair
        for target, kind in _targets(self.files or [], self.junit).items():
            replace_file(target, render.gate_file(kind, outcome, pair, names).encode("utf-8", "backslashreplace"))
            print_written(target, self.quiet)
        if self.json:
            write_text(render.gate_json(outcome, pair, names))
        elif self.markdown:
            write_text(render.gate_markdown(outcome, pair, names))
        elif not self.quiet:
            write_rendered(lambda console: render.print_gate(outcome, pair, names, console))


Candidate = Annotated[
    str,
    typer.Argument(
        metavar="CANDIDATE",
        help="A saved profile, or a model to count with the baseline's request.",
        autocompletion=completion.model_or_file,
    ),
]
Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--max",
        metavar="NAME=+N[%],...",
        autocompletion=completion.limit_names,
        help="How much a metric may grow: macs=+0%,peak_memory=+100MB,calls.vae=+0,time=+5%,time.vae_decode=+5%; "
        "or be at most: weights=24GB, predicted_memory=24GB, predicted_time[h100-sxm]=+5%. Repeatable. "
        "By default MACs, parameters, memory and calls, and the time where both were measured.",
    ),
]


@app.command()
@expand_groups
def gate(
    *,
    baseline: Annotated[Path, typer.Argument(metavar="BASELINE", help="The saved profile to compare against.")],
    candidate: Candidate,
    most: Limits = None,
    allow_different: Annotated[
        bool, typer.Option("--allow-different", help="Allow a baseline from a different request or device.")
    ] = False,
    output: OutcomeOptions,
) -> int:
    """Fail if a generation costs more than the limits allow.

    Counts are exact and need no GPU. A measured time fails only if the whole confidence interval of its change is
    beyond the limit. Exits with 0 if all limits are met, 1 if one is exceeded, 3 if the times are too noisy to tell.
    """
    from diffprof.comparison.gate import gate_profiles, parse_limits
    from diffprof.comparison.labels import distinct_labels

    limits = ",".join(most) if most else None
    parse_limits(limits or "")  # refuse wrong limits before anything is counted
    output.check()
    before = _load_baseline(baseline)
    after = open_profile(candidate, lambda model: _count(model, before, output.quiet))
    outcome = gate_profiles(before, after, limits, allow_different)
    output.write(outcome, distinct_labels([str(baseline), candidate]))
    return outcome.exit_code


def _targets(files: Sequence[Path], junit: Path | None) -> dict[Path, str]:
    """The files to write, with the format of each: by its ending, or JUnit XML for --junit."""
    for file in files:
        check_ending(file, ENDINGS)
    return {**{file: file.suffix.lower() for file in files}, **({junit: ".xml"} if junit else {})}


def _check_files(targets: Sequence[Path]) -> None:
    """Raise a `RequestError` if a file cannot be written: exit code 1 is reserved for exceeded limits."""
    from diffprof.record.atomic_files import check_writable

    try:
        for target in targets:
            check_writable(target)
    except OutputError as error:
        raise RequestError(str(error)) from error


def _load_baseline(file: Path) -> Profile:
    try:
        return load_saved_profile(file)
    except FileFormatError as error:
        if error.reason is not FileProblem.missing:
            raise
        raise FileFormatError(
            f"There is no baseline {file}; make one with `diffprof profile ... -o {file}`."
        ) from error


def _count(model: str, baseline: Profile, quiet: bool) -> Profile:
    """Count the model with the request of the baseline."""
    from diffprof.counting.request_profile import count_request

    with progress_bar(quiet) as progress:
        return count_request(baseline.request.as_request(model), progress=progress)
