"""The page of a trace, of two, and of ranks: what it says, and how it looks in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from diffprof.traces.analysis.comparison import compare_traces
from diffprof.traces.analysis.explain import explain_trace
from diffprof.traces.analysis.ranks import compare_ranks
from diffprof.traces.facts import TraceExplanation
from diffprof.traces.views.page import comparison_html, ranks_html, trace_html
from tests.browsers import DESKTOP, TELEPHONE, visiting
from tests.render.report.reports import BOLD, ENDING, PICTURE, SCRIPT, sections, words
from tests.render.report.test_in_browser import see_everything
from tests.traces.trace_builder import TraceBuilder, two_denoising_steps

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Read = Callable[..., TraceExplanation]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """``read(builder, "name.json")`` is what diffprof finds in a trace made by hand."""

    def explain(builder: TraceBuilder, name: str = "trace.json") -> TraceExplanation:
        return explain_trace(builder.write(tmp_path / name))

    return explain


def of_the_host() -> TraceBuilder:
    builder = TraceBuilder()
    builder.section("denoise", 0, 100)
    builder.section("denoise", 100, 200)
    builder.op("aten::linear", 0, 90)
    return builder


def rank(number: int, computes: int) -> TraceBuilder:
    builder = TraceBuilder(distributedInfo={"rank": number, "world_size": 2})
    builder.gpu("gemm", 0, computes)
    builder.gpu("ncclDevKernel_AllReduce", computes, 120)
    return builder


def two_devices() -> TraceBuilder:
    builder = two_denoising_steps()
    builder.gpu("gemm", 300, 350, device=1)
    builder.gpu("gemm", 500, 550, device=1)
    return builder


def hostile() -> TraceBuilder:
    """Every name that a trace brings along tries to be markup."""
    builder = TraceBuilder(deviceProperties=[{"id": 0, "name": f"GPU {PICTURE}"}])
    builder.section(f"section {SCRIPT}", 0, 1000)
    builder.python(f"pipe.py(1): {BOLD}", 0, 1000)
    builder.python(f"late.py(7): {ENDING}", 110, 290)
    builder.kernel(f"gemm {SCRIPT}", 10, 100, launched=5)
    builder.kernel(f"flash_fwd_kernel {ENDING} {BOLD}", 300, 400, launched=295)
    builder.op(f"aten::{PICTURE}", 500, 600)
    builder.memory(50, 1_000, 2_000)
    builder.memory(60, 3_000, 4_000)
    return builder


def ranks_of(read: Read) -> str:
    explanations = [read(rank(number, computes), f"rank{number}.json") for number, computes in enumerate((60, 100))]
    return ranks_html(compare_ranks(explanations), explanations)


def comparison_page(read: Read) -> str:
    return comparison_html(compare_traces(read(hostile(), "old.json"), read(two_denoising_steps(), "new.json")))


PAGES: dict[str, Callable[[Read], str]] = {
    "one": lambda read: trace_html(read(two_denoising_steps())),
    "devices": lambda read: trace_html(read(two_devices())),
    "host": lambda read: trace_html(read(of_the_host())),
    "hostile": lambda read: trace_html(read(hostile())),
    "ranks": ranks_of,
    "compared": comparison_page,
    "hosts compared": lambda read: comparison_html(compare_traces(*[read(of_the_host())] * 2)),
}


def test_a_trace_shows_its_timeline_then_what_to_do_and_then_where_the_time_went(read: Read) -> None:
    page = trace_html(read(two_denoising_steps()))
    assert sections(page) == [
        "GPU timeline", "Checklist", "Why it was idle", "Attention", "Kinds of work", "Sections", "Steps", "Copies",
        "Memory over time", "Operators on the host",
    ]  # fmt: skip
    text = " ".join(words(page).split())
    assert "The GPU was busy 49.4 % of 810 us and idle for 410 us; main cause: host too slow (320 us)." in text
    assert "bad Does the host keep up? 39.5 % of the time lost" in text
    assert "computation 0.340 ms 42.0 %" in text
    assert "host waited cudaStreamSynchronize in aten::item in schedulers/scheduling_euler.py(9): step" in text
    verdicts = re.findall(r'class="verdict (\w+)"', page)
    assert verdicts == ["bad"] * 4 + ["look"] * 2 + ["good"] + ["unknown"] + ["none"] * 2


def test_a_trace_of_the_host_alone_has_its_operators(read: Read) -> None:
    page = trace_html(read(of_the_host()))
    assert sections(page) == ["Timeline", "Sections", "Steps", "Operators on the host"]
    assert "GPU busy" not in page
    assert "The trace contains no GPU work" in words(page)


def test_two_traces_say_what_is_not_the_same_before_what_changed(read: Read) -> None:
    page = comparison_page(read)
    assert sections(page)[:2] == ["What is not the same", "Timeline"]
    assert "The GPU took 390 us before and 810 us after, 2.08x." in words(page)
    assert "New kernels" in sections(page)


def test_ranks_stand_beside_each_other_and_then_alone(read: Read) -> None:
    page = ranks_of(read)
    assert sections(page) == ["Ranks", "rank0.json", "rank1.json"]
    assert "Rank 1 arrived last in 1 of 1 collective call: the others waited 40.0 us in total." in words(page)


def test_names_of_kernels_are_cut_and_many_rows_left_out(read: Read) -> None:
    builder = TraceBuilder()
    for number in range(130):
        builder.kernel(f"kernel{number}{'x' * 1000}", 10 * number + 5, 10 * number + 6, launched=10 * number)
    page = trace_html(read(builder))
    assert len(words(page)) < 60_000
    assert "and 30 more" in words(page)


LOOKS = [
    *((name, DESKTOP, False) for name in ("one", "host")),
    *((name, TELEPHONE, True) for name in ("hostile", "ranks", "compared")),
    *(
        pytest.param(name, DESKTOP, False, marks=pytest.mark.extensive)
        for name in ("devices", "hostile", "ranks", "compared", "hosts compared")
    ),
    *(
        pytest.param(name, TELEPHONE, True, marks=pytest.mark.extensive)
        for name in ("one", "devices", "host", "hosts compared")
    ),
]


@pytest.mark.parametrize(("name", "width", "dark"), LOOKS)
def test_a_page_opens_from_disk_without_a_message_a_request_or_an_overflow(
    name: str, width: int, dark: bool, browser: Browser, read: Read, page_file: Path
) -> None:
    page_file.write_text(PAGES[name](read), encoding="utf-8")
    with visiting(browser, page_file.as_uri(), width, dark) as visit:
        see_everything(visit.page)
        assert (visit.messages, visit.requests) == ([], [])
        assert visit.overflow <= 0
        empty = visit.page.locator(".chart:visible").evaluate_all(
            "(all) => all.filter((one) => !one.querySelector('.trace')).map((one) => one.ariaLabel)"
        )
        buttons = visit.page.locator(".modebar-btn").evaluate_all("(all) => all.map((one) => one.dataset.title)")
    assert empty == []
    assert set(buttons) <= {"Download plot as a PNG", "Zoom", "Pan", "Reset axes"}


def test_names_in_a_trace_that_try_to_be_markup_are_text(browser: Browser, read: Read, page_file: Path) -> None:
    page_file.write_text(PAGES["hostile"](read), encoding="utf-8")
    with visiting(browser, page_file.as_uri()) as visit:
        see_everything(visit.page)
        text = visit.page.locator("body").inner_text()
        assert visit.page.evaluate("window.hacked") is None
        assert visit.page.locator("b", has_text="not bold").count() == 0
        assert visit.page.locator("[href*=evil], [src*=evil]").count() == 0
    for name in (SCRIPT, ENDING, PICTURE, "<b>not bold</b>"):
        assert name in text
