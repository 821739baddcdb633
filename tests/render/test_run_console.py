"""A measured run is shown whole and right at every width, and nothing from outside can disturb it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from diffprof.breakdown.sections import section_table
from diffprof.breakdown.throughput import throughput_table
from diffprof.errors import RequestError
from diffprof.record.measured import (
    DEVICE_TO_HOST,
    FROM_DISK,
    HOST_TO_DEVICE,
    CacheEvent,
    Device,
    Iteration,
    Measured,
    MemoryPoint,
    Move,
    RankPart,
    Sample,
    Span,
    StepSpan,
    SystemPoint,
)
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.exports.tables import run_csv
from diffprof.render.guides.timing_file import timing_text
from diffprof.render.run_console import run_text
from diffprof.render.table_names import RunTable
from tests.sample_iterations import CPU, GPU, MILLISECOND, iteration_on
from tests.sample_profiles import UNET_MACS, hostile, measured_profile, stable_diffusion

WIDTHS = [80, 100, 140]


def on_cpu() -> Profile:
    return measured_profile(load_seconds=12.5)


def on_gpu() -> Profile:
    """With a cache, offloading, a background sampler, a traced call, a call outside and one that failed."""
    runs = [
        _cached_and_offloaded(times=1.5, warmup=True),
        *[_cached_and_offloaded(times=times) for times in (1, 1.02)],
        iteration_on(GPU, times=4, traced=True, steps=2),
        iteration_on(GPU, steps=3, error="OutOfMemoryError: tried to allocate 2 GiB"),
        Iteration(0, Span(0, 7 * MILLISECOND, 0, 7 * MILLISECOND), entry="encode_prompt"),
    ]
    return measured_profile(
        device=GPU,
        iterations=runs,
        steps=6,
        system=[SystemPoint(n * MILLISECOND, 100 + n, 2 * 10**9, 1e6 * n, 0.0, 80 + n, 10**10) for n in range(3)],
        nominal_macs={"unet": 10 * UNET_MACS},
        cached_bytes={"FirstBlockCache": 50_000_000},
        notes=("The sampler was late twice.",),
        preparation={"compile": "regional", "offload": "model", "parallel": "ulysses=2"},
        ranks=(
            RankPart(0, f"{GPU.name} (cuda:0)", "", 1, 90 * MILLISECOND, 10**12, 10**8, 10**8, 9 * 10**9),
            RankPart(0, f"{GPU.name} (cuda:0)", "unet", 6, 60 * MILLISECOND, 10**12, 10**8, 10**8, 9 * 10**9),
            RankPart(1, f"{GPU.name} (cuda:1)", "", 1, 91 * MILLISECOND, None, None, None, None),
        ),
    )


def _cached_and_offloaded(**changes: Any) -> Iteration:
    """Six steps, all but two of them with a hit that makes them shorter; weights come in for each of them."""
    one = iteration_on(GPU, unet_ms=[12, 4, 4, 10, 4, 4], **changes)
    calls = [sample.span for sample in one.samples if sample.component == "unet"]
    caches = [
        CacheEvent("FirstBlockCache", step not in (0, 3), span.start_ns + 1, step, "unet", "blocks")
        for step, span in enumerate(calls)
    ]
    moves = [
        Move("text_encoder", HOST_TO_DEVICE, 680_000_000, 0, 3 * MILLISECOND, hidden=False),
        Move("text_encoder", DEVICE_TO_HOST, 680_000_000, 0, 4 * MILLISECOND),
        *[
            Move("unet", HOST_TO_DEVICE, 1_700_000_000, span.start_ns, MILLISECOND // 2, step, hidden=True)
            for step, span in enumerate(calls)
        ],
        Move("vae", FROM_DISK, 160_000_000, 0, 9 * MILLISECOND, hidden=False),
    ]
    return replace(one, caches=tuple(caches), moves=tuple(moves))


def strange() -> Profile:
    """Hostile names, negative own times, no memory, nothing counted, no known peak, times of 0 and of hours."""
    evil = "[red]evil[/red]\x1b[31m"
    samples = (
        Sample(evil, Span(0, 5), component=evil),
        Sample("inner\nsection", Span(1, 9), parent=0, failed=True),
        Sample("vae_decode", Span(0, 0), component="vae"),
        Sample("a_section_with_quite_a_long_name_that_does_not_fit", Span(9, 40_000 * 10**9), component="x" * 60),
    )
    steps = (StepSpan(evil, 0, Span(0, 0)), StepSpan("scheduler", 0, Span(1, 5)))
    caches = (CacheEvent(evil, True, 2, 0, evil),)
    memory = (MemoryPoint(evil, 0, 5, 5), MemoryPoint("end", 9, 10**15, 10**15))
    one = Iteration(0, Span(0, 40_001 * 10**9), samples, steps, memory, caches=caches, error=f"{evil}\nagain")
    measured = Measured(Device(evil, "xpu"), (one,), notes=(evil,))
    return replace(hostile(), measured=measured)


def empty() -> Profile:
    return replace(stable_diffusion(), measured=Measured(CPU, ()))


def without_findings(shown: str) -> str:
    """What comes before them: their words have tests of their own."""
    return shown[: shown.index("\nFindings")]


MADE_BY_HAND = [on_cpu, on_gpu, strange, empty]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("make", [on_cpu, on_gpu])
def test_a_run_looks_as_it_should(make: Callable[[], Profile], width: int, golden: Callable[[str, str], None]) -> None:
    golden(f"run-{make.__name__}-{width}.txt", without_findings(run_text(make(), width)))


@pytest.mark.parametrize("by", list(RunTable))
def test_each_table_looks_as_it_should(by: RunTable, golden: Callable[[str, str], None]) -> None:
    golden(f"run-by-{by.value}.txt", run_text(on_gpu(), 100, by))


def test_strange_runs_can_be_shown(golden: Callable[[str, str], None]) -> None:
    golden("run-strange.txt", without_findings(run_text(strange(), 100)))
    golden("run-empty.txt", run_text(empty(), 80))


@pytest.mark.parametrize("make", MADE_BY_HAND)
@pytest.mark.parametrize("by", [None, *RunTable])
@pytest.mark.parametrize("width", [20, 40, 60, 80, 99, 140, 200])
def test_no_line_is_wider_than_the_console(make: Callable[[], Profile], by: RunTable | None, width: int) -> None:
    lines = run_text(make(), width, by, verbose=True).splitlines()
    assert max(cell_len(line) for line in lines) <= width


@pytest.mark.parametrize("make", MADE_BY_HAND)
@pytest.mark.parametrize("by", [None, *RunTable])
def test_names_from_outside_stay_names(make: Callable[[], Profile], by: RunTable | None) -> None:
    shown = run_text(make(), 140, by, verbose=True) + timing_text(make())
    assert "\x1b" not in shown
    assert ("[red]evil[/red]" in shown) == (make is strange)


@pytest.mark.parametrize("make", [on_cpu, on_gpu])
@pytest.mark.parametrize("width", range(30, 160, 13))
def test_no_number_is_ever_cut(make: Callable[[], Profile], width: int) -> None:
    profile = make()
    assert profile.measured is not None
    sections = _words(run_text(profile, width, RunTable.section))
    for row in section_table(profile.measured.timed_iterations):
        assert numbers.nanoseconds(row.times.total_ns) in sections
        assert numbers.nanoseconds(row.self_ns) in sections
    components = _words(run_text(profile, width, RunTable.component))
    for one in throughput_table(profile):
        assert numbers.nanoseconds(one.median_ns) in components


def _words(shown: str) -> str:
    return " ".join(shown.split())


@pytest.mark.parametrize("make", MADE_BY_HAND)
def test_self_times_in_the_csv_add_up_to_the_wall_time(make: Callable[[], Profile]) -> None:
    profile = make()
    assert profile.measured is not None
    rows = csv.DictReader(io.StringIO(run_csv(profile, RunTable.section)))
    wall = sum(one.wall.host_ns for one in profile.measured.timed_iterations)
    assert sum(int(row["self_ns"]) for row in rows) == wall


@pytest.mark.parametrize("make", MADE_BY_HAND)
@pytest.mark.parametrize("by", list(RunTable))
def test_every_csv_is_rectangular_and_has_a_heading(make: Callable[[], Profile], by: RunTable) -> None:
    lines = list(csv.reader(io.StringIO(run_csv(make(), by))))
    assert len({len(line) for line in lines}) == 1
    assert len(lines[0]) > 3


def test_moves_in_the_csv_have_their_sums() -> None:
    rows = {row["component"]: row for row in csv.DictReader(io.StringIO(run_csv(on_gpu(), RunTable.move)))}
    assert rows["unet"]["host_to_device_bytes"] == str(2 * 6 * 1_700_000_000)
    assert rows["unet"]["steps_in"] == "0-5"


def test_where_only_ascii_is_known_there_is_only_ascii() -> None:
    for by in (None, *RunTable):
        assert run_text(on_gpu(), 80, by, encoding="ascii").isascii()


def test_findings_come_last_and_are_numbered() -> None:
    shown = run_text(on_gpu(), 100)
    findings = shown[shown.index("\nFindings") :]
    numbered = [int(number) for number in re.findall(r"^ *(\d+)\. ", findings, re.MULTILINE)]
    assert numbered == list(range(1, len(numbered) + 1)) != []


def test_verbose_has_the_memory_of_all_iterations_and_the_assumptions() -> None:
    brief, verbose = run_text(on_cpu(), 100), run_text(on_cpu(), 100, verbose=True)
    assert "Assumed" not in brief
    assert "Assumed" in verbose
    assert "1 (warm-up): start" not in brief
    assert "1 (warm-up): start" in verbose


def test_a_profile_that_was_only_counted_is_rejected() -> None:
    for show in (run_text, timing_text):
        with pytest.raises(RequestError, match="was counted, not measured"):
            show(stable_diffusion())


def test_a_single_iteration_claims_no_spread() -> None:
    shown = " ".join(run_text(measured_profile(iterations=[iteration_on(CPU)]), 100).split())
    assert "a single iteration has no spread" in shown
    assert "deviation" not in shown
