"""The tables of a measured run: by section, component, step, moment, peak, cache or move."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from diffprof.breakdown.caches import CacheRow, cache_table, cache_timeline
from diffprof.breakdown.memory_peaks import MemoryMoment, MemoryRow, memory_table
from diffprof.breakdown.moves import move_table
from diffprof.breakdown.sections import SectionRow, section_table
from diffprof.breakdown.steps import step_table
from diffprof.breakdown.throughput import Generation, ThroughputRow, generation, throughput_table
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.columns import Column
from diffprof.render.dtypes import describe_mix
from diffprof.render.numbers import nanoseconds

BAR = 9
UNKNOWN = "-"
MEMORY_TOLERANCE = 0.01
"""Amounts of memory whose relative difference is smaller are treated as equal."""
OTHER = "everything else"
"""The name of what runs outside of components: the pipeline's own code."""


def section_columns(profile: Profile, ascii_only: bool) -> list[Column]:
    """The sections of the timed iterations, and their sum: the wall time."""
    timed = profile.measured.timed_iterations if profile.measured else ()
    rows = section_table(timed)
    wall = sum(row.self_ns for row in rows)

    def each(value: Callable[[SectionRow], float], total: str = "") -> list[str]:
        return [*(nanoseconds(value(row)) for row in rows), *([total] if rows else [])]

    return [
        Column("section", [*(row.section for row in rows), *(["wall"] if rows else [])], justify="left", least=20),
        Column("count", [*(numbers.exact(row.times.count) for row in rows), *([""] if rows else [])], rank=2),
        Column("total", each(lambda row: row.times.total_ns, nanoseconds(wall))),
        Column("mean", each(lambda row: row.times.mean_ns), rank=3),
        Column("min", each(lambda row: row.times.min_ns), rank=4),
        Column("max", each(lambda row: row.times.max_ns), rank=4),
        # Total times include nested sections and add up to more than the wall time; self times add up to it.
        Column("self", each(lambda row: row.self_ns, nanoseconds(wall))),
        _share("  share", [*(row.self_share for row in rows), *([1.0] if rows else [])], ascii_only),
    ]


def component_columns(profile: Profile, ascii_only: bool) -> list[Column]:
    """The mean time and the throughput of each component in one generation, of everything else, and the sum."""
    rows = throughput_table(profile)
    whole = generation(profile)
    peaks = {row.part: row for row in memory_table(profile) if not row.is_stage}
    if not rows or whole is None:
        return [Column("component", [])]
    both: list[ThroughputRow | Generation] = [*rows, whole]
    names, times, shares = _parts_of_time(rows, whole)

    def each(cells: Sequence[str]) -> list[str]:
        """The cells of the components, an empty one for everything else, and that of the whole."""
        return [*cells[: len(rows)], "", *(cells[len(rows) :] or [""])]

    return [
        Column("component", names, justify="left", least=12),
        Column("calls", each([numbers.exact(row.calls) for row in rows]), rank=4),
        Column("time", [nanoseconds(time) for time in times]),
        _share("  share", shares, ascii_only, rank=3),
        Column("MACs", each([_or_dash(one.macs, numbers.short) for one in both]), rank=2),
        Column("FLOP/s", each([_or_dash(one.flops_per_second, _short) for one in both])),
        Column("computes in", each([describe_mix(row.macs_by_dtype) for row in rows]), rank=7, justify="left"),
        Column("of\npeak", each([_or_dash(row.peak_share, numbers.percent_of) for row in rows]), rank=1),
        *_bandwidth([row.bandwidth_share for row in rows]),
        *_limits([row.limited_by for row in rows]),
        Column("FLOPs\nper byte", each([_or_dash(row.flops_per_byte, numbers.significant) for row in rows]), rank=5),
        Column("ops per\ncall", each([_or_dash(row.ops_per_call, numbers.significant) for row in rows]), rank=6),
        Column("time\nper op", each([_or_dash(row.ns_per_op, nanoseconds) for row in rows]), rank=6),
        *_peak_memory([peaks.get(row.component) for row in rows], ["", ""]),
    ]


def _parts_of_time(rows: Sequence[ThroughputRow], whole: Generation) -> tuple[list[str], list[float], list[float]]:
    """Names, mean times and shares: of each component, of everything else, and of the whole generation."""
    other_ns = whole.mean_ns - sum(row.mean_ns for row in rows)
    other_share = 1 - sum(row.share for row in rows)
    return (
        [*(row.component for row in rows), OTHER, "generation"],
        [*(row.mean_ns for row in rows), max(0.0, other_ns), whole.mean_ns],
        [*(row.share for row in rows), max(0.0, other_share), 1.0],
    )


def step_columns(profile: Profile, ascii_only: bool, with_bars: bool = True) -> list[Column]:
    """Each denoising step, with a bar relative to the slowest."""
    rows = step_table(profile)
    slowest = max((row.median_ns for row in rows), default=0)
    several = len({row.scheduler for row in rows}) > 1
    names = [f"{row.scheduler} {row.number}" if several else str(row.number) for row in rows]
    bars = [numbers.bar(row.median_ns / slowest if slowest else 0, BAR, ascii_only) for row in rows]
    return [
        Column("step", names, justify="left" if several else "right"),
        Column("median", [nanoseconds(row.median_ns) for row in rows]),
        Column("min", [nanoseconds(row.min_ns) for row in rows], rank=3),
        Column("max", [nanoseconds(row.max_ns) for row in rows], rank=3),
        Column("time\nbefore", [_or_dash(row.before_ns, nanoseconds) for row in rows], rank=2),
        Column("MACs", [_or_dash(row.macs, numbers.short) for row in rows], rank=4),
        Column("FLOP/s", [_or_dash(row.flops_per_second, _short) for row in rows], rank=1),
        *([Column("relative", bars, rank=5, justify="left", style="cyan")] if with_bars else []),
    ]


def memory_columns(moments: Sequence[MemoryMoment]) -> list[Column]:
    """The memory at each moment; columns without any known value are left out."""
    several = len({moment.iteration for moment in moments}) > 1
    columns = [
        Column("moment", [moment_label(one, several) for one in moments], justify="left", least=20),
        _bytes_column("allocated", [one.allocated_bytes for one in moments]),
        _bytes_column("reserved", [one.reserved_bytes for one in moments], rank=3),
        _bytes_column("max alloc", [one.max_allocated_bytes for one in moments], rank=1),
        _bytes_column("RSS", [one.rss_bytes for one in moments], rank=2),
        _bytes_column("peak RSS", [one.peak_rss_bytes for one in moments], rank=4),
    ]
    return [column for column in columns if any(cell != UNKNOWN for cell in column.cells) or not moments]


def notable_moments(moments: Sequence[MemoryMoment]) -> list[MemoryMoment]:
    """The moments of the first two iterations, of the last one, and of others whose memory differs.

    An iteration between them is left out if its memory is that of the iteration shown before it: the rows of thirty
    equal iterations would all say the same.
    """
    by_iteration = {number: list(own) for number, own in groupby(moments, key=lambda one: one.iteration)}
    iterations = list(by_iteration)
    selected: list[MemoryMoment] = []
    previous: list[MemoryMoment] = []
    for iteration in iterations:
        own = by_iteration[iteration]
        if iteration in (*iterations[:2], iterations[-1]) or not _are_similar(previous, own):
            selected += own
            previous = own
    return selected


def _are_similar(before: Sequence[MemoryMoment], after: Sequence[MemoryMoment]) -> bool:
    """Whether both iterations have the same moments with about the same memory."""
    if [one.label for one in before] != [one.label for one in after]:
        return False
    pairs = [
        (one or 0, other or 0)
        for first, second in zip(before, after, strict=True)
        for one, other in zip(_amounts(first), _amounts(second), strict=True)
    ]
    return all(abs(one - other) <= MEMORY_TOLERANCE * max(one, other) for one, other in pairs)


def _amounts(moment: MemoryMoment) -> tuple[int | None, ...]:
    return (
        *(moment.allocated_bytes, moment.reserved_bytes, moment.max_allocated_bytes),
        *(moment.rss_bytes, moment.peak_rss_bytes),
    )


def moment_label(moment: MemoryMoment, several: bool) -> str:
    """``start``, or ``2: start`` if there are several iterations; a warm-up is marked."""
    run = f"{moment.iteration + 1}{' (warm-up)' if moment.warmup else ''}: "
    return f"{run if several else ''}{moment.label}"


def peak_columns(rows: Sequence[MemoryRow]) -> list[Column]:
    """The peak memory of each component and stage."""
    names = [row.part for row in rows]
    kinds = ["stage" if row.is_stage else "component" for row in rows]
    known = any(row.device_peak_bytes is not None for row in rows)
    device = [_bytes_column("peak on device", [row.device_peak_bytes for row in rows])] if known else []
    return [
        Column("part", names, justify="left", least=16),
        Column("kind", kinds, justify="left", rank=2, style="dim"),
        *device,
        _bytes_column("highest RSS", [row.rss_peak_bytes for row in rows], rank=1 if known else 0),
    ]


def cache_columns(profile: Profile, ascii_only: bool) -> list[Column]:
    """The caches, with the share of hits over the steps below the name."""
    rows = cache_table(profile)
    return [
        Column("cache", [_cache_name(profile, row, ascii_only) for row in rows], justify="left", least=20),
        Column("component", [row.component or UNKNOWN for row in rows], rank=4, justify="left", least=12),
        Column("hits", [numbers.exact(row.hits) for row in rows], rank=2),
        Column("misses", [numbers.exact(row.misses) for row in rows], rank=2),
        Column("rate", [numbers.percent(row.hit_rate) for row in rows]),
        Column("MACs saved", [_or_dash(row.macs_saved, numbers.short) for row in rows], rank=1),
        Column("of all", [_or_dash(row.macs_saved_share, numbers.percent) for row in rows], rank=5),
        Column("time saved\n(estimate)", [_or_dash(row.ns_saved, nanoseconds) for row in rows], rank=1),
        Column("calls\nused", [numbers.exact(row.compared_calls) for row in rows], rank=6),
        Column("memory", [_or_dash(row.held_bytes, numbers.gigabytes) for row in rows], rank=3),
    ]


def move_columns(profile: Profile, ascii_only: bool) -> list[Column]:
    """The weights that offloading moved, by component, and how long that kept the host busy."""
    rows = move_table(profile.measured.timed_iterations if profile.measured else ())
    moved = [row.moved for row in rows]
    disk = any(one.from_disk_bytes for one in moved)
    timed = any(one.spent_ns != one.host_ns for one in moved)
    return [
        Column("component", [row.component for row in rows], justify="left", least=12),
        Column("times in", [numbers.exact(one.times_in) for one in moved], rank=3),
        Column("times out", [numbers.exact(one.times_out) for one in moved], rank=3),
        Column("host to\ndevice", [numbers.gigabytes(one.host_to_device_bytes) for one in moved]),
        Column("device to\nhost", [numbers.gigabytes(one.device_to_host_bytes) for one in moved], rank=1),
        *([Column("from disk", [numbers.gigabytes(one.from_disk_bytes) for one in moved])] if disk else []),
        Column("host busy", [nanoseconds(one.host_ns) for one in moved]),
        *([Column("copies", [nanoseconds(one.spent_ns) for one in moved])] if timed else []),
        Column("hidden", [nanoseconds(one.hidden_ns) for one in moved], rank=4),
        Column("exposed", [nanoseconds(one.exposed_ns) for one in moved], rank=2),
        Column("unknown", [nanoseconds(one.unknown_ns) for one in moved], rank=4),
        Column("in steps", [numbers.ranges(row.steps_in) or UNKNOWN for row in rows], rank=5, justify="left", least=8),
    ]


def part_columns(profile: Profile, ascii_only: bool) -> list[Column]:
    """A short table of one generation: the components, everything else, and the sum."""
    rows, whole = throughput_table(profile), generation(profile)
    if not rows or whole is None:
        return [Column("part", [])]
    peaks = memory_table(profile)
    of_part = {row.part: row for row in peaks if not row.is_stage}
    highest = max(peaks, key=lambda row: (row.device_peak_bytes or 0, row.rss_peak_bytes), default=None)
    names, times, shares = _parts_of_time(rows, whole)
    return [
        Column("part", names, justify="left", least=12),
        Column("calls", [*(numbers.exact(row.calls) for row in rows), "", ""], rank=2),
        Column("time", [nanoseconds(time) for time in times]),
        _share("  share", shares, ascii_only),
        Column(
            "MACs",
            [*(_or_dash(row.macs, numbers.short) for row in rows), "", _or_dash(whole.macs, numbers.short)],
        ),
        Column(
            "FLOP/s",
            [
                *(_or_dash(row.flops_per_second, _short) for row in rows),
                "",
                _or_dash(whole.flops_per_second, _short),
            ],
            rank=1,
        ),
        *_peak_memory([*(of_part.get(row.component) for row in rows)], ["", *_peak_cell(highest)]),
    ]


def _peak_cell(row: MemoryRow | None) -> list[str]:
    if row is None:
        return [""]
    return [numbers.gigabytes(row.rss_peak_bytes if row.device_peak_bytes is None else row.device_peak_bytes)]


def _cache_name(profile: Profile, row: CacheRow, ascii_only: bool) -> str:
    steps = [one for one in cache_timeline(profile) if (one.cache, one.component) == (row.cache, row.component)]
    rates = [one.hits / (one.hits + one.misses) for one in steps if one.step is not None]
    line = numbers.sparkline([*rates, 1.0], len(rates) + 1, ascii_only)[:-1] if len(rates) <= 60 else ""
    return f"{row.cache}\n{line}" if line else row.cache


def _peak_memory(peaks: Sequence[MemoryRow | None], more: Sequence[str]) -> list[Column]:
    """Peak device memory if it is known, else the highest resident memory of the process."""
    on_device = [row.device_peak_bytes if row else None for row in peaks]
    if any(peak is not None for peak in on_device):
        return [Column("peak\nmemory", [*(_or_dash(peak, numbers.gigabytes) for peak in on_device), *more], rank=2)]
    seen = [row.rss_peak_bytes if row else None for row in peaks]
    return [Column("highest\nRSS", [*(_or_dash(peak, numbers.gigabytes) for peak in seen), *more], rank=2)]


def _bytes_column(heading: str, sizes: Iterable[int | None], rank: int = 0) -> Column:
    return Column(heading, [_or_dash(size, numbers.gigabytes) for size in sizes], rank=rank)


def _share(heading: str, shares: Sequence[float], ascii_only: bool, rank: int = 1) -> Column:
    cells = [f"{numbers.percent(share):>7} {numbers.bar(share, BAR, ascii_only)}" for share in shares]
    return Column(heading, cells, rank=rank, justify="left", style="cyan", shares=shares)


def _short(rate: float) -> str:
    return numbers.short(round(rate))


def _or_dash(value: float | int | None, format_value: Callable[..., str]) -> str:
    """Format a value; a dash if it is unknown, because unknown is not 0."""
    return UNKNOWN if value is None else format_value(value)


def _bandwidth(shares: Sequence[float | None]) -> list[Column]:
    """The share of the memory bandwidth that each component achieved; no column if none is known."""
    if all(share is None for share in shares):
        return []
    return [Column("of band-\nwidth", [*(_or_dash(share, numbers.percent_of) for share in shares), "", ""], rank=4)]


def _limits(limits: Sequence[str | None]) -> list[Column]:
    """What limits each component; no column if none is known."""
    if all(limit is None for limit in limits):
        return []
    return [Column("limited\nby", [*(limit or UNKNOWN for limit in limits), "", ""], rank=4, justify="left")]
