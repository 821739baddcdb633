"""The tables of a profile: by component, kind of work, module, attention or call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diffprof.breakdown.attention import AttentionRow, attention_table
from diffprof.breakdown.calls import CallRow, call_table
from diffprof.breakdown.components import ComponentRow, component_table
from diffprof.breakdown.kinds import kind_table
from diffprof.breakdown.modules import ModuleRow, module_table
from diffprof.record.profile import AttentionSite, Profile
from diffprof.render import numbers
from diffprof.render.columns import Column, FittedColumns, fit_columns, minimum_width
from diffprof.render.shapes import inputs_text
from diffprof.render.table_names import ProfileTable

# Widths of the bars in cells.
WIDE_BAR, NARROW_BAR = 20, 9


def fit_profile_table(
    profile: Profile, by: ProfileTable, depth: int, width: int, ascii_only: bool = False, verbose: bool = False
) -> FittedColumns:
    """The columns of the table that fit into `width`."""
    if by is ProfileTable.module:
        return fit_columns(_modules(module_table(profile, depth), ascii_only), width)
    if by is ProfileTable.component:
        return _components(profile, width, ascii_only, verbose)
    if by is ProfileTable.call:
        calls = [row for row in call_table(profile) if verbose or not _is_idle_pipeline(profile, row)]
        return fit_columns(_calls(calls, ascii_only), width)
    view = {ProfileTable.kind: _kinds, ProfileTable.attention: _attention}[by]
    return fit_columns(view(profile, ascii_only), width)


def _is_idle_pipeline(profile: Profile, row: ComponentRow | CallRow) -> bool:
    """Whether the row is the pipeline's own code, without any MACs: not worth a row."""
    return profile.components[row.component].role == "pipeline" and not row.macs


def _components(profile: Profile, width: int, ascii_only: bool, verbose: bool) -> FittedColumns:
    """One line for each component if it fits, else two, with the class below the name."""
    rows = [row for row in component_table(profile) if verbose or not _is_idle_pipeline(profile, row)]
    wide = _component_columns(profile, rows, True, ascii_only)
    if minimum_width(wide) <= width:
        return FittedColumns(wide)
    return fit_columns(_component_columns(profile, rows, False, ascii_only), width)


def _component_columns(profile: Profile, rows: list[ComponentRow], wide: bool, ascii_only: bool) -> list[Column]:
    total = profile.total
    roles = ["own code" if row.role == "pipeline" else row.role.replace("_", " ") for row in rows]
    names = [row.component if wide else f"{row.component}\n{row.class_name}" for row in rows]
    shares = [row.share for row in rows]
    per_call, total_macs = ("MACs per call", "total MACs") if wide else ("MACs\nper call", "total\nMACs")
    columns = [
        Column(
            "component",
            [*names, "total"],
            justify="left",
            least=None if wide else 20,
            cut_below=True,
            style="bold" if wide else "",
        ),
        Column("class", [*(row.class_name for row in rows), ""], justify="left", style="dim"),
        Column("role", [*roles, ""], rank=4, justify="left", least=None if wide else 8),
        # A sum of calls of different components would mean nothing.
        Column("calls", [*(numbers.exact(row.calls) for row in rows), ""], rank=2),
        Column(
            "parameters" if wide else "para-\nmeters",
            [*(numbers.parameters(row.parameters) for row in rows), numbers.parameters(total.parameters)],
            rank=3,
        ),
        Column(per_call, [*(_per_call(row, wide) for row in rows), ""], rank=5),
        Column(total_macs, [*(numbers.short(row.macs) for row in rows), numbers.short(total.macs)]),
        _share(shares, wide, ascii_only, total=True),
    ]
    return columns if wide else [column for column in columns if column.heading != "class"]


def _per_call(row: ComponentRow, wide: bool) -> str:
    if not row.calls:
        return "-"
    if row.least_macs_per_call == row.most_macs_per_call:
        return numbers.short(row.macs // row.calls)
    between = " to " if wide else "\nto "
    return f"{numbers.short(row.least_macs_per_call)}{between}{numbers.short(row.most_macs_per_call)}"


def _share(shares: Sequence[float], wide: bool, ascii_only: bool, total: bool = False) -> Column:
    size = WIDE_BAR if wide else NARROW_BAR
    cells = []
    for share in shares:
        percent, bar = numbers.percent(share), numbers.bar(share, size, ascii_only)
        cells.append(f"{percent:>7}  {bar}" if wide else _join_lines(f"{percent:>7}", bar))
    whole = [1.0 if any(shares) else 0.0] if total else []
    cells += [f"{numbers.percent(share):>7}" for share in whole]
    return Column("  share", cells, rank=1, justify="left", style="cyan", shares=[*shares, *whole])


def _join_lines(*lines: str) -> str:
    """The lines of a cell without the empty ones."""
    return "\n".join(line for line in lines if line)


def _kinds(profile: Profile, ascii_only: bool) -> list[Column]:
    rows = kind_table(profile)
    return [
        Column(
            "kind of work", [f"  {row.kind}" if row.part_of else row.kind for row in rows], justify="left", least=12
        ),
        Column("executions", [numbers.exact(row.executions) for row in rows], rank=3),
        Column("MACs", [numbers.short(row.macs) for row in rows]),
        Column("other FLOPs", [numbers.short(row.other_flops) for row in rows], rank=2),
        Column("read", [_bytes(row.read_bytes) for row in rows], rank=4),
        Column("written", [_bytes(row.written_bytes) for row in rows], rank=5),
        _share_of_macs([row.share for row in rows], ascii_only),
    ]


def _share_of_macs(shares: list[float], ascii_only: bool) -> Column:
    cells = [f"{numbers.percent(share):>7} {numbers.bar(share, NARROW_BAR, ascii_only)}" for share in shares]
    return Column("  share of MACs", cells, rank=1, justify="left", style="cyan", shares=shares)


def _bytes(count: int | None) -> str:
    return "" if count is None else numbers.gigabytes(count)


def _modules(rows: list[ModuleRow], ascii_only: bool) -> list[Column]:
    def each(value: Callable[[ModuleRow], str]) -> list[str]:
        return [value(row) for row in rows]

    return [
        Column("module", each(_module_name), justify="left", least=30),
        Column("class", each(lambda row: row.class_name), rank=4, justify="left", least=14, cut=True, style="dim"),
        Column("calls", each(lambda row: numbers.exact(row.calls) if row.calls else "-"), rank=5),
        Column("parameters", each(lambda row: numbers.parameters(row.parameters)), rank=3),
        Column("MACs", each(lambda row: numbers.short(row.macs))),
        Column("other FLOPs", each(lambda row: numbers.short(row.other_flops)), rank=6),
        _share_of_macs([row.share for row in rows], ascii_only),
    ]


def _module_name(row: ModuleRow) -> str:
    name = row.path.rpartition(".")[2] if row.path else row.component
    many = f" ({row.repeats} in total)" if row.repeats > 1 else ""
    return f"{'  ' * row.depth}{name}{many}"


def _attention(profile: Profile, ascii_only: bool) -> list[Column]:
    rows = attention_table(profile)
    return [
        Column("where", [f"{row.component}\n{row.site.module}" for row in rows], justify="left", least=18),
        Column("relation", [_relation(row) for row in rows], justify="left"),
        Column(
            "query x\nkey tokens",
            [f"{numbers.exact(row.site.query_tokens)} x\n{numbers.exact(row.site.key_tokens)}" for row in rows],
            rank=3,
        ),
        Column("heads x\nsize", [f"{_heads(row.site)} x\n{_head_size(row.site)}" for row in rows], rank=4),
        Column("batch", [numbers.exact(row.site.batch) for row in rows], rank=7),
        Column("times", [numbers.exact(row.executions) for row in rows], rank=6),
        Column("QKᵀ\nMACs", [numbers.short(row.qk_macs) for row in rows], rank=5),
        Column("softmax\nFLOPs", [numbers.short(row.softmax_flops) for row in rows], rank=8),
        Column("AV\nMACs", [numbers.short(row.av_macs) for row in rows], rank=5),
        Column("total\nMACs", [numbers.short(row.macs) for row in rows]),
        _share([row.share for row in rows], False, ascii_only),
    ]


def _relation(row: AttentionRow) -> str:
    remarks = [word for word, holds in (("causal", row.site.causal), ("masked", row.site.masked)) if holds]
    return _join_lines(row.site.relation, ", ".join(remarks))


def _heads(site: AttentionSite) -> str:
    return str(site.heads) if site.heads == site.key_heads else f"{site.heads} ({site.key_heads} for keys)"


def _head_size(site: AttentionSite) -> str:
    return str(site.head_size) if site.head_size == site.value_size else f"{site.head_size} and {site.value_size}"


def _calls(rows: Sequence[CallRow], ascii_only: bool) -> list[Column]:
    names = [_join_lines(f"{row.component}.{row.method}", inputs_text(row.inputs)) for row in rows]
    return [
        Column("call", names, justify="left", least=24),
        Column("times", [numbers.exact(row.count) for row in rows], rank=3),
        Column("steps", [numbers.ranges(row.steps) or "-" for row in rows], rank=5, justify="left", least=6),
        Column("MACs\nper call", [numbers.short(row.macs_per_call) for row in rows], rank=2),
        Column("total\nMACs", [numbers.short(row.macs) for row in rows]),
        Column("peak\nactivations", [numbers.gigabytes(row.peak_live_bytes) for row in rows], rank=4),
        _share([row.share for row in rows], False, ascii_only),
    ]
