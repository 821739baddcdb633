"""Advice as text and tables: the request, better options, and their code."""

from __future__ import annotations

from collections.abc import Sequence

from diffprof.advice.views.request_words import request_lines, run_lines
from diffprof.record.advice import HIGH, LOW, MEDIUM, NO_RISK, Advice, Option
from diffprof.render import numbers
from diffprof.render.blocks import Block
from diffprof.render.columns import Column

RISK_WORDS = {
    NO_RISK: "the same computation",
    LOW: "rounding, or slightly less guidance or precision; rarely visible",
    MEDIUM: "less is computed; check the results",
    HIGH: "another model; the results differ",
}
GOAL_WORDS = {"time": "fastest", "memory": "smallest", "cost": "cheapest", "energy": "least energy"}
NEAREST_WORDS = ("smallest of all", "fastest that fits the device")
MOST_CODE = 3
"""The number of options whose code is shown on the console; files have the code of all."""


def advice_blocks(advice: Advice, verbose: bool = False) -> list[Block]:
    """All blocks; with `verbose`, all code and all assumptions."""
    blocks = [summary_block(advice), *([options_block(advice)] if advice.options else ())]
    blocks += [code_block(option) for option in (advice.options if verbose else advice.options[:MOST_CODE])]
    left = len(advice.options) - MOST_CODE
    if verbose:
        return [*blocks, Block("Assumptions", [f"- {line}" for line in advice.assumptions])]
    lines = [f"--verbose shows the code of {left} more, -o advice.html has it all."] if left > 0 else []
    lines.append(f"{numbers.times(len(advice.assumptions), 'assumption')}: --verbose lists them.")
    return [*blocks, Block(lines=lines)]


def summary_block(advice: Advice) -> Block:
    """The request, its time and memory, and the best options."""
    lines = [*request_lines(advice), *run_lines(advice.requested.settings), *summary_lines(advice)]
    return Block(advice_title(advice.model, advice), lines)


def advice_title(what: str, advice: Advice) -> str:
    return f"{what} on {advice.accelerator}: what to change"


def summary_lines(advice: Advice) -> list[str]:
    """Lines about the time and memory of the request, the number of options, and the best ones."""
    now = advice.requested
    does_fit = "it fits" if now.fits else "it does not fit"
    lines = [
        f"as requested: {numbers.estimate(now.total_seconds)}, {numbers.gibibytes(now.peak.device_bytes)} "
        f"as nvidia-smi shows it; {does_fit}",
        f"{numbers.times(advice.tried, 'option')} tried",
    ]
    if advice.options:
        best = advice.options[0]
        lines.append(f"{GOAL_WORDS[advice.goal]}: {_figures(best)}; quality risk: {best.risk}")
        safe = next((option for option in advice.options if option.risk == NO_RISK), None)
        if safe is not None and safe is not best:
            lines.append(f"{GOAL_WORDS[advice.goal]} without quality risk: {_figures(safe)}")
    else:
        lines.append("none of them fits within the limits")
        lines += [f"{word}: {_figures(option)}" for word, option in zip(NEAREST_WORDS, advice.nearest, strict=False)]
    return lines


def _figures(option: Option) -> str:
    return f"{option.name}, {numbers.estimate(option.seconds)} each, {numbers.gibibytes(option.peak.device_bytes)}"


def options_block(advice: Advice) -> Block:
    """A row for each option, the best for the goal first."""
    rows = advice.options
    columns = [
        Column("option", [option.name for option in rows], justify="left", style="bold", least=30),
        Column("time each", [numbers.estimate(option.seconds) for option in rows]),
        Column("speed-up", [_speedup(advice, option) for option in rows], rank=3),
        Column("nvidia-smi", [numbers.gibibytes(option.peak.device_bytes) for option in rows]),
        Column("host", [numbers.gibibytes(option.host.peak_bytes) for option in rows], rank=4),
        *_optional("energy", [_joules(option) for option in rows]),
        *_optional("price", [_price(option) for option in rows]),
        Column("risk", [option.risk for option in rows], justify="left"),
    ]
    used = [risk for risk in RISK_WORDS if any(option.risk == risk for option in rows)]
    return Block("Options", columns=columns, after=[f"risk {risk}: {RISK_WORDS[risk]}" for risk in used])


def code_block(option: Option) -> Block:
    """The code of an option, and the commands that reproduce its prediction."""
    lines = [*option.code, f"# {option.fit_command}", f"# {option.predict_command}"]
    return Block(option.name, code=lines)


def _speedup(advice: Advice, option: Option) -> str:
    return numbers.factor(advice.requested.seconds / option.seconds)


def _optional(heading: str, cells: Sequence[str]) -> list[Column]:
    return [Column(heading, cells, rank=5)] if any(cells) else []


def _joules(option: Option) -> str:
    return "" if option.energy_joules is None else numbers.joules(option.energy_joules / option.results)


def _price(option: Option) -> str:
    return "" if option.price_usd is None else numbers.dollars(option.price_usd / option.results)
