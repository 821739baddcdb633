"""The commands and what each is for. A command's module is imported when it runs, so that help comes at once."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

# Command: the first sentence of its help. Its module is `diffprof.cli.<command>` and has an `app`.
COMMANDS = {
    "profile": "Count what one generation with a model costs, without its weights.",
    "fit": "Say whether one generation fits in memory, where its peak is, and what would make it fit.",
    "predict": "Predict how long one generation takes on accelerators that need not be at hand.",
    "advise": "Say what to change about one generation on an accelerator: faster, smaller, cheaper.",
    "sweep": "Say what every combination of models, sizes, steps and accelerators costs.",
    "scale": "Say how the cost of a model grows with size, steps, images and frames.",
    "run": "Run a model for real and measure where its time and memory go.",
    "generate": "Generate an image or a video, and measure what that takes.",
    "trace": "Explain a trace of torch.profiler: where the GPU time went, why the GPU was idle, what to do about it.",
    "memory": "Explain a memory snapshot of torch: the peak, whose memory it was, fragmentation, and what failed.",
    "compare": "Show what differs between profiles: conditions first, then counts, then measurements.",
    "gate": "Fail if generation costs more than the limits allow.",
    "report": "Write a report to share: one self-contained HTML page.",
    "app": "Open a page in the browser: profile, generate, compare and look at kept runs.",
    "card": "Print a table for a model card: what one generation costs, as Markdown.",
    "models": "List the models that diffprof knows by name.",
    "hardware": "List the accelerators that diffprof knows: peaks, memory, bandwidth and power.",
    "show": "Print a saved profile.",
    "history": "Look at runs kept with --keep: list, find, compare, show trends.",
    "crosscheck": "Count one component with other tools too, and show what each of them missed.",
    "doctor": "Check on this machine what diffprof promises about measured runs, and print a report for an issue.",
    "config": "Show the settings in effect, and where each comes from.",
    "cache": "Look at or empty the cache of profiles.",
}


class LazyCommands(TyperGroup):
    """A group whose commands are modules, imported when needed; listing them imports none."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            ctx.fail(_unknown(cmd_name))
        module = import_module(f"diffprof.cli.{cmd_name}")
        return typer.main.get_command(module.app)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(
    cls=LazyCommands,
    rich_markup_mode=None,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def diffprof(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", is_eager=True, callback=lambda on: _print_version(on)),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")] = False,
) -> None:
    """What a diffusion pipeline costs, where the cost goes and what to change."""


def _print_version(requested: bool) -> None:
    if requested:
        import diffprof

        typer.echo(f"diffprof {diffprof.__version__}")
        raise typer.Exit


def _unknown(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the commands are {', '.join(COMMANDS)}."
    return f"There is no command {name}; {hint}"
