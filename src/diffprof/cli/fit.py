"""``diffprof fit MODEL --gpu NAME``"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffprof.cli import options
from diffprof.cli.option_groups import CountOptions, expand_groups
from diffprof.cli.output import check_formats
from diffprof.cli.progress import progress_bar
from diffprof.cli.terminal import print_written, write_rendered, write_text
from diffprof.errors import RequestError
from diffprof.record.atomic_files import check_writable

if TYPE_CHECKING:
    from diffprof.record.fitted import Fit, FitSettings
    from diffprof.record.profile import Profile

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

ENDINGS = (".json", ".csv", ".html", ".txt")


@dataclass(frozen=True)
class WeightOptions:
    """Where the weights lie, and in which form."""

    offload: Annotated[
        str, typer.Option(metavar="WAY", help="Keep weights off the device: model, sequential, group or group-leaf.")
    ] = "none"
    no_stream: Annotated[
        bool, typer.Option("--no-stream", help="Group offload without a stream: nothing is fetched ahead or pinned.")
    ] = False
    blocks_per_group: Annotated[str, typer.Option(metavar="N", help="Blocks that group offload moves together.")] = "1"
    quantize: Annotated[
        list[str] | None,
        typer.Option(metavar="COMPONENT=SCHEME", help="Linear layers in nf4, int8, fp8, gguf-q4_k... Repeatable."),
    ] = None
    layerwise: Annotated[str | None, typer.Option(metavar="DTYPE", help="Keep the denoiser's layers in fp8.")] = None
    drop_text_encoders: Annotated[
        bool, typer.Option("--drop-text-encoders", help="Text encoders are deleted when the prompt is encoded.")
    ] = False
    attention: Annotated[str, typer.Option(metavar="NAME", help="sdpa, or math for attention not fused.")] = "sdpa"
    compile: Annotated[bool, typer.Option("--compile", help="The models are compiled with torch.compile.")] = False
    devices: Annotated[
        str, typer.Option(metavar="N", help="Devices that share the denoiser's sequence (context parallelism).")
    ] = "1"

    def settings(self, profile: Profile) -> FitSettings:
        """The same, checked."""
        from diffprof.advice.fit import layerwise_slots
        from diffprof.record.fitted import FitSettings

        if self.attention not in ("sdpa", "math"):
            raise RequestError(f"Unknown attention {self.attention!r}; use sdpa or math.")
        if self.layerwise not in (None, "fp8"):
            raise RequestError(f"--layerwise keeps layers in fp8, not in {self.layerwise!r}.")
        return FitSettings(
            self.offload, not self.no_stream, _whole("--blocks-per-group", self.blocks_per_group),
            _pairs(self.quantize), layerwise_slots(self.layerwise, profile), self.drop_text_encoders,
            self.attention, self.compile, _whole("--devices", self.devices),
        )  # fmt: skip


def _pairs(texts: list[str] | None) -> dict[str, str]:
    pairs = {}
    for text in texts or ():
        component, equals, scheme = text.partition("=")
        if not equals or not component or not scheme:
            raise RequestError(f"--quantize takes COMPONENT=SCHEME, as in transformer=nf4, not {text!r}.")
        pairs[component] = scheme
    return pairs


def _whole(option: str, text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise RequestError(f"{option} must be a whole number of 1 or more, not {text!r}.")
    return int(text)


@dataclass(frozen=True)
class FitOutputOptions:
    """What is written, and where."""

    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False
    csv: Annotated[bool, typer.Option("--csv", help="Print the stages as CSV.")] = False
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
def fit(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A name of `diffprof models`, a hub id, a folder or a saved profile."),
    ],
    requested: CountOptions,
    weights: WeightOptions,
    output: FitOutputOptions,
    gpu: Annotated[str | None, typer.Option(metavar="NAME", help="An accelerator of `diffprof hardware`.")] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory of a device that is not listed: 24GB.")
    ] = None,
    ram: Annotated[str | None, typer.Option(metavar="SIZE", help="Memory of the host: 64GB.")] = None,
    hardware: Annotated[
        Path | None, typer.Option("--hardware", metavar="FILE.toml", help="Also use the accelerators of this file.")
    ] = None,
) -> None:
    """Say whether one generation fits in memory, where its peak is, and what would make it fit.

    Nothing is run: the allocations of the count are followed through PyTorch's allocator. docs/memory.md says how, and
    how far to trust it.
    """
    from diffprof.advice.fit import FitRequest, fit_profile, recount_profile
    from diffprof.advice.sizes import parse_memory
    from diffprof.settings.limits import dtype_name

    output.check()
    sizes = parse_memory("--memory", memory), parse_memory("--ram", ram)
    profile = _profile(model, requested, output.quiet)
    request = FitRequest(gpu, *sizes, weights.settings(profile), hardware, dtype_name(requested.dtype))
    write(fit_profile(profile, request, lambda more: recount_profile(profile, more)), output)


def _profile(model: str, requested: CountOptions, quiet: bool) -> Profile:
    from diffprof.counting.cached import count_request
    from diffprof.counting.sources import open_profile

    def count(name: str) -> Profile:
        with progress_bar(quiet) as progress:
            return count_request(requested.request(name), progress=progress)

    return open_profile(model, count)


def write(result: Fit, output: FitOutputOptions) -> None:
    """Write it as the options say."""
    from diffprof.advice.views.fit_views import fit_csv, print_fit
    from diffprof.record.fit_files import dumps

    if output.file is not None:
        from diffprof.record.atomic_files import replace_file

        replace_file(output.file, _text(result, output.file.suffix).encode())
        print_written(output.file, output.quiet)
    elif output.json or output.csv:
        write_text(dumps(result) if output.json else fit_csv(result))
    else:
        write_rendered(lambda console: print_fit(result, console, output.verbose))


def _text(result: Fit, ending: str) -> str:
    from diffprof.advice.views.fit_page import fit_html
    from diffprof.advice.views.fit_views import fit_csv, fit_text
    from diffprof.record.fit_files import dumps

    return {".html": fit_html, ".json": dumps, ".csv": fit_csv, ".txt": fit_text}[ending](result)
