"""The tab History in a real browser."""

from __future__ import annotations

from playwright.sync_api import expect

import diffprof
from diffprof.app.setup import Setup
from diffprof.record.history import History
from diffprof.render import numbers
from tests.app.conftest import OpenPage, Visitor, served


def choose_runs(visitor: Visitor, *runs: str) -> None:
    """Choose runs by how their names in the list begin."""
    for run in runs:
        visitor.find("history-runs").locator("input").click()
        visitor.page.get_by_role("option", name=run).first.click()
    visitor.find("history-runs").locator("input").press("Escape")


def test_kept_runs_are_found_opened_and_compared(visit: OpenPage) -> None:
    store = History()
    for steps in (5, 9):
        store.add(diffprof.profile("dit-xl-2-256", num_inference_steps=steps), "profile")
    visitor = visit()
    visitor.tab("History")
    visitor.sees("history-list", "dit-xl-2-256")
    visitor.type("history-text", "sdxl")
    expect(visitor.find("history-list")).not_to_contain_text("dit-xl-2-256")
    visitor.type("history-text", "")
    visitor.sees("history-list", "dit-xl-2-256")

    visitor.press("history-open")
    visitor.sees("history-message", "Choose one run to open, or several to compare.")
    visitor.find("history-list").locator("tr", has_text="dit-xl-2-256").first.click()
    visitor.sees("history-totals", f"exactly {numbers.exact(store.get(2).total.macs)}")
    expect(visitor.find("history-tree").locator(".js-plotly-plot")).to_contain_text("transformer")

    choose_runs(visitor, "run 1")
    visitor.press("history-compare")
    visitor.sees("history-totals", "run 2 against run 1")
    visitor.sees("history-tables", f"-{numbers.exact(4 * store.get(1).steps.macs)}")
    expect(visitor.find("history-tree")).not_to_be_visible()


def test_a_run_of_this_session_is_kept_on_request(visit: OpenPage) -> None:
    visitor = visit()
    assert History().count() == 0
    visitor.tab("History")
    choose_runs(visitor, "unsaved 1")
    visitor.press("history-keep")
    visitor.sees("history-message", "Kept as run 1")
    assert History().get(1).request.model == "flux.1-dev"


def test_a_visitor_from_another_machine_sees_no_kept_runs(visit: OpenPage) -> None:
    History().add(diffprof.profile("dit-xl-2-256", num_inference_steps=5), "profile")
    with served(Setup(host="0.0.0.0", port=0)) as at:
        visitor = visit(at=at)
        visitor.tab("History")
        visitor.sees("history-list", "flux.1-dev")
        expect(visitor.find("history-list")).not_to_contain_text("dit-xl-2-256")
        expect(visitor.find("history-keep")).not_to_be_visible()
