"""Cards with the most important changes between two profiles."""

from __future__ import annotations

from diffprof.comparison.compare import Comparison, Pair
from diffprof.comparison.counts import BYTES, CountChange
from diffprof.comparison.views.sentences import change_of_time
from diffprof.render import numbers
from diffprof.render.report.lead import card_row
from diffprof.render.report.markup import Markup

COUNTED = {"macs": "MACs", "parameters": "parameters", "peak_memory": "at the peak"}
"""The counts that have a card; measured memory replaces the counted one."""


def comparison_cards(comparison: Comparison) -> Markup:
    """Cards for measured time and memory, if any, then for counts; none for more than two profiles."""
    if len(comparison.pairs) != 1:
        return Markup()
    (pair,) = comparison.pairs
    return card_row([*_measured_cards(pair), *_count_cards(pair)])


def _measured_cards(pair: Pair) -> list[tuple[str, str]]:
    cards = []
    call = pair.times[0] if pair.times else None
    if call is not None and call.before is not None and call.after is not None:
        times = [numbers.nanoseconds(side.median_ns) for side in (call.after, call.before)]
        cards.append((change_of_time(call), f"time: {times[0]} instead of {times[1]}"))
    if pair.memory is not None:
        peak = pair.memory.peak
        sizes = [numbers.gigabytes(size, brief=True) for size in (peak.after, peak.before)]
        cards.append((_change(peak), f"memory: {sizes[0]} instead of {sizes[1]}"))
    return cards


def _count_cards(pair: Pair) -> list[tuple[str, str]]:
    figures = {figure.name: figure for figure in pair.totals}
    shown = {name: unit for name, unit in COUNTED.items() if name in figures}
    if pair.memory is not None:
        shown.pop("peak_memory", None)
    return [(_change(figures[name]), _amounts(figures[name], unit)) for name, unit in shown.items()]


def _amounts(figure: CountChange, unit: str) -> str:
    after, before = (_amount(figure.name, number) for number in (figure.after, figure.before))
    return f"{after} {unit}" + (f" instead of {before}" if figure.difference else " in both")


def _amount(name: str, number: int) -> str:
    if name in BYTES:
        return numbers.gigabytes(number, brief=True)
    return numbers.parameters(number, brief=True) if name == "parameters" else numbers.short(number, brief=True)


def _change(figure: CountChange) -> str:
    if not figure.difference:
        return "equal"
    return "new" if figure.ratio is None else numbers.change(figure.ratio)
