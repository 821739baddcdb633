"""``diffprof predict MODEL --gpu NAME[,NAME]``"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffprof.advice.views.prediction_tables import PredictionTable
from diffprof.cli import options
from diffprof.cli.option_groups import CountOptions, expand_groups
from diffprof.cli.output import check_formats
from diffprof.cli.progress import progress_bar
from diffprof.cli.terminal import print_written, write_rendered, write_text
from diffprof.errors import RequestError
from diffprof.record.atomic_files import check_writable
from diffprof.record.changes import Changes
from diffprof.record.predicted import PredictionSettings
from diffprof.record.request import parse_rate

if TYPE_CHECKING:
    from diffprof.record.predicted import Prediction
    from diffprof.record.profile import Profile

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

ENDINGS = (".json", ".csv", ".html", ".txt")


@dataclass(frozen=True)
class RunningOptions:
    """How the pipeline is run, beside what is counted."""

    compile: Annotated[bool, typer.Option("--compile", help="The models are compiled with torch.compile.")] = False
    offload: Annotated[
        str, typer.Option(metavar="WAY", help="Keep weights off the device: model, sequential, group or group-leaf.")
    ] = "none"
    quantize: options.Quantize = None
    layerwise: options.Layerwise = None
    attention: Annotated[str, typer.Option(metavar="NAME", help="sdpa, or math for attention not fused.")] = "sdpa"
    skip_rate: Annotated[
        str | None, typer.Option(metavar="SHARE", help="A cache skips this share of the denoiser's calls.")
    ] = None

    def settings(self) -> PredictionSettings:
        """The same, checked."""
        if self.attention not in ("sdpa", "math"):
            raise RequestError(f"Unknown attention {self.attention!r}; use sdpa or math.")
        rate = 0.0 if self.skip_rate is None else parse_rate("--skip-rate", self.skip_rate)
        changes = Changes.create(quantize=self.quantize, layerwise=self.layerwise)
        return PredictionSettings(self.compile, self.attention, self.offload, changes.quantize, changes.layerwise, rate)


@dataclass(frozen=True)
class PredictionOutputOptions:
    """What is written, and where."""

    by: Annotated[PredictionTable | None, typer.Option(help="Only the table with these rows.", show_default=False)] = (
        None
    )
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False
    csv: Annotated[bool, typer.Option("--csv", help="Print one table as CSV.")] = False
    file: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to a .json, .csv, .html or .txt file.")
    ] = None
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List every assumption.")] = False
    quiet: options.Quiet = False

    def check(self) -> None:
        """Before anything is counted."""
        check_formats(self.json, self.csv)
        if self.file is not None:
            if self.file.suffix not in ENDINGS:
                raise RequestError(f"Cannot tell the format of {self.file}; use one of {', '.join(ENDINGS)}.")
            check_writable(self.file)


@app.command()
@expand_groups
def predict(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A name of `diffprof models`, a hub id, a folder or a saved profile."),
    ],
    requested: CountOptions,
    running: RunningOptions,
    output: PredictionOutputOptions,
    gpu: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME]", help="Accelerators of `diffprof hardware`, or all. By default a selection."
        ),
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option("--profile", metavar="FILE", help="A measured run: what is said about its machine is corrected."),
    ] = None,
    price: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]USD", help="Price of an hour, of one accelerator or of each. Repeatable."),
    ] = None,
    hardware: Annotated[
        Path | None, typer.Option("--hardware", metavar="FILE.toml", help="Also use the accelerators of this file.")
    ] = None,
) -> None:
    """Predict how long one generation takes on accelerators that need not be at hand.

    The count of the model is combined with what accelerators are known to reach. docs/prediction.md says how, and how
    far to trust it.
    """
    from diffprof.advice.predict import PredictionRequest, check_request, predict_profile
    from diffprof.settings.limits import dtype_name

    output.check()
    request = PredictionRequest(
        options.accelerator_names(gpu), running.settings(), _prices(price), hardware, dtype_name(requested.dtype)
    )
    measured = _load(profile) if profile is not None else None
    if measured is None:
        check_request(request)
    write(predict_profile(_profile(model, requested, output.quiet), request, measured), output)


def _prices(texts: list[str] | None) -> Mapping[str, float]:
    prices: dict[str, float] = {}
    for text in texts or ():
        name, equals, price = text.rpartition("=")
        prices[name.strip() if equals else ""] = parse_rate("--price", price, most=1e6)
    return prices


def _load(file: Path) -> Profile:
    from diffprof.cli.saved_profile import load_named

    return load_named(file)


def _profile(model: str, requested: CountOptions, quiet: bool) -> Profile:
    from diffprof.counting.cached import count_request
    from diffprof.counting.sources import open_profile

    def count(name: str) -> Profile:
        with progress_bar(quiet) as progress:
            return count_request(requested.request(name), progress=progress)

    return open_profile(model, count)


def write(prediction: Prediction, output: PredictionOutputOptions) -> None:
    """Write the prediction as the options say."""
    from diffprof.advice.views.prediction_console import print_prediction
    from diffprof.advice.views.prediction_data import prediction_csv
    from diffprof.record.prediction_files import dumps

    table = output.by or PredictionTable.accelerator
    if output.file is None:
        if output.json or output.csv:
            write_text(dumps(prediction) if output.json else prediction_csv(prediction, table))
        else:
            write_rendered(lambda console: print_prediction(prediction, console, output.by, output.verbose))
        return
    from diffprof.record.atomic_files import replace_file

    replace_file(output.file, _text(prediction, output.file.suffix, table).encode())
    print_written(output.file, output.quiet)


def _text(prediction: Prediction, ending: str, table: PredictionTable) -> str:
    from diffprof.advice.views.prediction_console import prediction_text
    from diffprof.advice.views.prediction_data import prediction_csv
    from diffprof.advice.views.prediction_page import prediction_html
    from diffprof.record.prediction_files import dumps

    if ending == ".csv":
        return prediction_csv(prediction, table)
    return {".html": prediction_html, ".json": dumps, ".txt": prediction_text}[ending](prediction)
