"""The text of ``diffprof --help``: options and commands, printed without importing typer."""

from __future__ import annotations

COMMANDS = {
    "profile": "Count what one generation with a model costs, without its weights.",
    "fit": "Check whether a generation fits in memory, where it peaks, and what would make it fit.",
    "predict": "Predict how long a generation takes on any accelerator.",
    "advise": "Suggest changes that make a generation faster, smaller or cheaper on an accelerator.",
    "sweep": "Tabulate what every combination of models, sizes, steps and accelerators costs.",
    "scale": "Show how the cost of a model grows with size, steps, images and frames.",
    "run": "Run a model and measure where its time and memory go.",
    "generate": "Generate an image or a video, and measure what it takes.",
    "trace": "Explain a torch.profiler trace: where the GPU time went, why the GPU sat idle, what to do about it.",
    "memory": "Explain a PyTorch memory snapshot: the peak, what held it, fragmentation, and failed allocations.",
    "compare": "Compare profiles: conditions first, then measurements and counts.",
    "gate": "Fail if a generation costs more than the limits allow.",
    "report": "Write a report to share: one self-contained HTML page.",
    "app": "Open the app in a browser: profile, generate, compare, and browse kept runs.",
    "card": "Print a Markdown table for a model card: what one generation costs.",
    "models": "List the models that diffprof knows by name.",
    "hardware": "List the accelerators that diffprof knows: peaks, memory, bandwidth and power.",
    "show": "Print a saved profile, or a saved answer of fit, predict or advise.",
    "history": "Browse runs kept with --keep: list, search, compare, and show trends.",
    "crosscheck": "Count one component with other tools too, and show what each of them misses.",
    "doctor": "Check that measured runs can be trusted on this machine, and print a report for an issue.",
    "config": "Show the settings in effect and where each comes from.",
    "cache": "Inspect or clear the cache of profiles.",
}
"""Each command with the first sentence of its help. Its module is `diffprof.cli.commands.<command>`, with an `app`."""

OPTIONS = {
    "--version": "Print the version.",
    "--debug": "Show a traceback when something fails.",
    "--install-completion": "Install completion for the current shell.",
    "--show-completion": "Show completion for the current shell, to copy it or customize the installation.",
    "-h, --help": "Show this message and exit.",
}

SUMMARY = "What a diffusion pipeline costs, where the cost goes and what to change."
WIDTH = 80


def overview() -> str:
    """The help text of the program as a whole."""
    usage = "Usage: diffprof [OPTIONS] COMMAND [ARGS]..."
    return "\n".join(
        [usage, "", f"  {SUMMARY}", "", *_section("Options", OPTIONS), "", *_section("Commands", COMMANDS)]
    )


def _section(title: str, entries: dict[str, str]) -> list[str]:
    column = max(map(len, entries)) + 4
    lines = [f"{title}:"]
    for name, text in entries.items():
        line = f"  {name}".ljust(column)
        for word in text.split():
            if len(line) + len(word) + 1 > WIDTH - 2 and line.strip():
                lines.append(line.rstrip())
                line = " " * column
            line += word if len(line) == column else f" {word}"
        lines.append(line)
    return lines
