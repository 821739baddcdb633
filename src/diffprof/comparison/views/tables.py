"""The blocks of a comparison: results and conditions first, then times, memory and counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from diffprof.comparison.compare import Comparison, Pair
from diffprof.comparison.conditions import MODEL, REQUEST
from diffprof.comparison.counts import BYTES, CHANGED, SAME, ComponentChange, CountChange
from diffprof.comparison.overview import OverviewRow, overview
from diffprof.comparison.parts import CALL, MODULE, OPERATION, PartChange, common_factors
from diffprof.comparison.times import TimeChange
from diffprof.comparison.views.hardware import hardware_blocks
from diffprof.comparison.views.sentences import (
    change_of_time,
    comparability,
    describe_image_difference,
    interval_text,
    lead_lines,
    time_notes,
    warning_lines,
)
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.blocks import Block
from diffprof.render.columns import Column
from diffprof.render.headline import headline

TOP = 8
"""How many rows of calls, operations or modules are shown by default; --json and --csv have all."""

LONGEST_HEADING = 24

CONDITIONS = "Can they be compared?"
IMAGES = "Images"

OWN_CODE = "pipeline"
"""The slot of the pipeline's own code, whose arithmetic on latents would fill every table."""

TITLES = {
    "macs": "MACs", "flops": "FLOPs", "other_flops": "other FLOPs", "parameters": "parameters", "buffers": "buffers",
    "weights": "weights", "peak_memory": "peak memory", "bytes": "bytes moved", "read_bytes": "bytes read",
    "written_bytes": "bytes written", "calls": "component calls", "operations": "operations",
    "steps": "denoising steps", "step_macs": "MACs per step",
}  # fmt: skip

_PLURALS = {CALL: "calls", OPERATION: "operations", MODULE: "modules"}


def blocks(comparison: Comparison, top: int = TOP) -> list[Block]:
    """All blocks: the changes between two profiles, or an overview of more than two."""
    return [
        Block(title(comparison), lead_lines(comparison)),
        Block(lines=[*headlines(comparison), *warning_lines(comparison.names, comparison.profiles)]),
        Block(CONDITIONS, comparability(comparison)),
        *change_blocks(comparison, top),
        *image_blocks(comparison),
    ]


def image_blocks(comparison: Comparison) -> list[Block]:
    """A block about the differences of the images, if there are any."""
    lines = [describe_image_difference(difference) for difference in comparison.images]
    return [Block(IMAGES, lines)] if lines else []


def title(comparison: Comparison) -> str:
    """The title of the comparison."""
    if len(comparison.names) == 2:
        return " against ".join(comparison.names)
    return f"{len(comparison.names)} profiles, each against {comparison.names[0]}"


def headlines(comparison: Comparison) -> list[str]:
    """A headline for each profile, preceded by its name unless it starts with that."""
    described = [(name, headline(profile)) for name, profile in zip(comparison.names, comparison.profiles, strict=True)]
    return [text if text.startswith(f"{name} · ") else f"{name}: {text}" for name, text in described]


def change_blocks(comparison: Comparison, top: int = TOP) -> list[Block]:
    """The changes between two profiles, or an overview of more than two."""
    if len(comparison.pairs) != 1:
        return [*_overview_blocks(comparison), *hardware_blocks(comparison)]
    (pair,) = comparison.pairs
    measured = _measured_blocks(pair, comparison.names, comparison.profiles)
    counted = _counted_blocks(pair, comparison, top)
    # Measurements come first; a note that there are none comes last.
    memory = _memory_blocks(pair, comparison.names)
    blocks_ = [*measured, *memory, *counted] if pair.times else [*counted, *measured]
    return [*blocks_, *hardware_blocks(comparison)]


def _heading(name: str) -> str:
    return numbers.shorten(name, LONGEST_HEADING)


def amount(figure: str, number: int) -> str:
    """A short number in the unit of its metric."""
    if figure in BYTES:
        return numbers.gigabytes(number)
    if figure == "predicted_memory":
        return numbers.gibibytes(number)
    if figure == "predicted_time":
        return numbers.estimate(number / 1e9)
    return numbers.parameters(number) if figure in ("parameters", "buffers") else numbers.short(number)


def change_text(figure: CountChange) -> str:
    """The change of a count, relative if possible."""
    if figure.ratio is None:
        return numbers.with_sign(amount(figure.name, figure.difference), figure.difference)
    return numbers.change(figure.ratio)


def _counted_blocks(pair: Pair, comparison: Comparison, top: int) -> list[Block]:
    names = comparison.names
    changed = [figure for figure in pair.totals if figure.difference]
    equal = [TITLES[figure.name] for figure in pair.totals if not figure.difference]
    if not changed and not pair.parts and all(change.change == SAME for change in pair.components):
        return [Block("Counted", ["Exactly the same: every metric, call, operation and module."])]
    totals = Block(
        "Counted", columns=_figures(changed, names), after=[f"The same: {', '.join(equal)}."] if equal else []
    )
    return [totals, *_components(pair.components, names), *_parts(_notable_parts(pair.parts, comparison), top)]


def _notable_parts(parts: Sequence[PartChange], comparison: Comparison) -> Sequence[PartChange]:
    """The parts to show: only calls if the models differ, because then all operations and modules do."""
    if not any(condition.group == REQUEST and condition.name == MODEL for condition in comparison.conditions):
        return parts
    return [part for part in parts if part.kind == CALL]


def _figures(figures: Sequence[CountChange], names: Sequence[str]) -> list[Column]:
    if not figures:
        return []
    return [
        Column("metric", [TITLES[figure.name] for figure in figures], justify="left"),
        Column(_heading(names[0]), [amount(figure.name, figure.before) for figure in figures]),
        Column(_heading(names[1]), [amount(figure.name, figure.after) for figure in figures]),
        Column("change", [change_text(figure) for figure in figures]),
        Column("exact difference", [_difference(figure) for figure in figures], rank=1),
    ]


def _difference(figure: CountChange) -> str:
    return numbers.with_sign(numbers.exact(figure.difference), figure.difference)


def _components(components: Sequence[ComponentChange], names: Sequence[str]) -> list[Block]:
    changed = [change for change in components if change.change != SAME and _has_row(change)]
    same = [change.component for change in components if change.change == SAME]
    other = [change.component for change in components if change.change != SAME and not _has_row(change)]
    notes = [f"The same: {', '.join(same)}."] if same else []
    notes += [f"Differs in bytes or operations only: {', '.join(other)}."] if other else []
    if not changed:
        return [Block("Components", notes)] if other else []
    metrics = {figure: [_metric(change, figure) for change in changed] for figure in ("macs", "parameters", "calls")}
    happened = [_component_change(change) for change in changed]
    columns = [
        Column("component", [change.component for change in changed], justify="left", least=12),
        *([Column("what changed", happened, justify="left", least=12)] if any(happened) else []),
        Column(f"MACs\n{_heading(names[0])}", [amount("macs", one.before) for one in metrics["macs"]], rank=1),
        Column(f"MACs\n{_heading(names[1])}", [amount("macs", one.after) for one in metrics["macs"]], rank=1),
        *(Column(f"change of\n{TITLES[name]}", [change_text(one) for one in found]) for name, found in metrics.items()),
    ]
    return [Block("Components", columns=columns, after=notes)]


def _has_row(change: ComponentChange) -> bool:
    """Whether the change gets a row in the table."""
    return bool(_component_change(change)) or any(
        _metric(change, figure).difference for figure in ("macs", "parameters", "calls")
    )


def _metric(change: ComponentChange, figure: str) -> CountChange:
    return next(one for one in change.figures if one.name == figure)


def _component_change(change: ComponentChange) -> str:
    other = change.before_class and change.after_class and change.before_class != change.after_class
    if other:
        return f"{change.before_class}, now {change.after_class}"
    return "" if change.change == CHANGED else change.change


def _parts(parts: Sequence[PartChange], top: int) -> Iterable[Block]:
    factors = common_factors(parts)
    for kind, found in groupby(parts, key=lambda change: change.kind):
        rows: list[_Row] = []
        lines = []
        for component, group in groupby(found, key=lambda change: change.component):
            changes = list(group)
            factor = factors.get((kind, component))
            if factor is not None and kind != CALL:
                ran = f"ran {numbers.factor(factor)} as often, with the same work each time"
                lines.append(f"{component}: {numbers.times(len(changes), kind)} {ran}.")
            elif component == OWN_CODE and not any(change.macs_difference for change in changes):
                differ = "differs" if len(changes) == 1 else "differ"
                lines.append(f"{component}: {numbers.times(len(changes), kind)} of its own code {differ}, MACs do not.")
            else:
                rows += _similar_rows(component, changes)
        yield _part_block(kind, lines, sorted(rows, key=lambda row: -abs(row.macs)), top)


@dataclass(frozen=True)
class _Row:
    component: str
    name: str
    happened: str
    macs: int


def _part_block(kind: str, lines: Sequence[str], rows: Sequence[_Row], top: int) -> Block:
    shown, left = rows[:top], len(rows) - top
    columns = [
        Column("component", [row.component for row in shown], justify="left", least=12),
        Column(kind, [row.name for row in shown], justify="left", least=24),
        Column("what changed", [row.happened for row in shown], justify="left", least=18),
        Column("MACs", [numbers.with_sign(numbers.short(row.macs), row.macs) for row in shown]),
    ]
    more = [f"And {numbers.exact(left)} more: --json and --csv have all."] if left > 0 else []
    return Block(_PLURALS[kind].capitalize(), lines, columns if shown else (), more, folded=True)


def _similar_rows(component: str, changes: Sequence[PartChange]) -> list[_Row]:
    """Rows for changed parts; modules that differ only in their index share a row."""
    groups: dict[tuple[str, str], list[PartChange]] = {}
    for change in changes:
        name = re.sub(r"(?<![^.])\d+(?![^.])", "*", change.name) if change.kind == MODULE else change.name
        groups.setdefault((name, _part_change(change)), []).append(change)
    return [
        _Row(
            component,
            f"{name or '(itself)'}{f' ({len(found)} of them)' if len(found) > 1 else ''}",
            happened,
            sum(change.macs_difference for change in found),
        )
        for (name, happened), found in groups.items()
    ]


def _part_change(change: PartChange) -> str:
    before, after = change.before, change.after
    if before is None or after is None:
        part = before or after
        assert part is not None, "at least one of them has it"
        held = [numbers.parameters(part.parameters) + " parameters"] if part.parameters else []
        ran = [f"{numbers.times(part.count, 'time')}"] if part.count else []
        return f"{change.change}: " + ", ".join([*([part.class_name] if part.class_name else []), *held, *ran])
    pairs: list[tuple[str, str, str]] = [
        ("", before.class_name, after.class_name),
        (" parameters", numbers.parameters(before.parameters), numbers.parameters(after.parameters)),
        (" times", numbers.exact(before.count), numbers.exact(after.count)),
    ]
    changes = [f"{one}{unit}, now {other}" for unit, one, other in pairs if one != other]
    return "; ".join(changes) or "different work"


def _measured_blocks(pair: Pair, names: Sequence[str], profiles: Sequence[Profile]) -> list[Block]:
    notes = time_notes(pair, names, profiles)
    if not pair.times:
        return [Block("Measured", notes)] if notes else []
    return [Block("Measured", columns=time_columns(pair.times, names), after=notes)]


def time_columns(times: Sequence[TimeChange], names: Sequence[str]) -> list[Column]:
    """The columns of the table of times."""

    def each(value: Callable[[TimeChange], str]) -> list[str]:
        return [value(change) for change in times]

    return [
        Column("time of", each(lambda one: one.name), justify="left", least=14),
        Column(_heading(names[0]), each(lambda one: numbers.nanoseconds(one.before.median_ns) if one.before else "-")),
        Column(_heading(names[1]), each(lambda one: numbers.nanoseconds(one.after.median_ns) if one.after else "-")),
        Column("change", each(change_of_time)),
        Column("interval", each(interval_text), rank=1),
        Column("rank test", each(lambda one: numbers.probability(one.ratio.p_value) if one.ratio else "-"), rank=2),
        Column("verdict", each(lambda one: one.verdict), justify="left", least=10),
    ]


def _memory_blocks(pair: Pair, names: Sequence[str]) -> list[Block]:
    if pair.memory is None:
        return []
    peak = pair.memory.peak
    columns = [
        Column(
            "highest memory in use", ["on the device" if pair.memory.on_device else "of the process"], justify="left"
        ),
        Column(_heading(names[0]), [numbers.gigabytes(peak.before)]),
        Column(_heading(names[1]), [numbers.gigabytes(peak.after)]),
        Column("change", [numbers.change(peak.ratio) if peak.ratio is not None else "new"]),
    ]
    return [Block("Measured memory", columns=columns)]


def _overview_blocks(comparison: Comparison) -> list[Block]:
    rows = overview(comparison.profiles, comparison.names)
    figures = ("macs", "parameters", "weights", "peak_memory", "steps", "step_macs", "calls")
    ranks = {"weights": 4, "step_macs": 3, "calls": 5, "peak_memory": 2}

    def cells(figure: str) -> list[str]:
        return [amount(figure, row.figures[figure]) for row in rows]

    against = ["", *(change_text(_total(pair, "macs")) for pair in comparison.pairs)]
    columns = [
        Column("profile", list(comparison.names), justify="left", least=12),
        *(Column(TITLES[figure], cells(figure), rank=ranks.get(figure, 0)) for figure in figures[:1]),
        Column("change", against),
        *(Column(TITLES[figure], cells(figure), rank=ranks.get(figure, 0)) for figure in figures[1:]),
    ]
    measured = [_times_of_many(comparison, rows)] if any(row.call for row in rows) else []
    return [*measured, Block("Counted", columns=columns), _per_component(rows)]


def _total(pair: Pair, name: str) -> CountChange:
    return next(figure for figure in pair.totals if figure.name == name)


def _per_component(rows: Sequence[OverviewRow]) -> Block:
    # The pipeline's own code rarely has MACs; a row of zeros would be useless.
    slots = list(dict.fromkeys(slot for row in rows for slot, macs in row.components.items() if macs))
    columns = [
        Column("component", slots, justify="left", least=12),
        *(
            Column(
                _heading(row.name),
                [numbers.short(row.components[slot]) if slot in row.components else "-" for slot in slots],
            )
            for row in rows
        ),
    ]
    return Block("MACs of the components", columns=columns)


def _times_of_many(comparison: Comparison, rows: Sequence[OverviewRow]) -> Block:
    calls = [None, *(pair.times[0] if pair.times else None for pair in comparison.pairs)]
    columns = [
        Column("profile", [row.name for row in rows], justify="left", least=12),
        Column("iterations", [numbers.exact(row.call.count) if row.call else "-" for row in rows], rank=1),
        Column("whole call", [numbers.nanoseconds(row.call.median_ns) if row.call else "-" for row in rows]),
        Column("change", [change_of_time(one) if one else "" for one in calls]),
        Column("interval", [interval_text(one) if one else "" for one in calls], rank=2),
        Column("verdict", [one.verdict if one else "" for one in calls], justify="left", least=10),
    ]
    return Block("Measured", columns=columns)
