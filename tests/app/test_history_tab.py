"""The tab History: in a real browser, and its handlers."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

import diffprof
from diffprof.app.context import AppContext
from diffprof.app.session import Session
from diffprof.app.setup import Setup
from diffprof.app.tabs.history import ANY, HistoryTab
from diffprof.record.history import History
from diffprof.render import numbers
from tests.app.conftest import OpenPage, Visitor, build_tab

OPENED = "sd-2.1-base"


def choose_runs(visitor: Visitor, *runs: str) -> None:
    """Choose runs by how their names in the list begin."""
    for run in runs:
        visitor.find("history-runs").locator("input").click()
        visitor.page.get_by_role("option", name=run).first.click()
    visitor.find("history-runs").locator("input").press("Escape")


def test_kept_runs_are_found_opened_and_compared_and_a_run_of_this_session_is_kept_on_request(visit: OpenPage) -> None:
    store = History()
    for steps in (5, 9):
        store.add(diffprof.profile("dit-xl-2-256", num_inference_steps=steps), "profile")
    visitor = visit(f"?model={OPENED}")
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
    visitor.sees_chart("history-tree", "transformer")

    choose_runs(visitor, "run 1")
    visitor.press("history-compare")
    visitor.sees("history-totals", "run 2 against run 1")
    visitor.sees("history-tables", f"-{numbers.exact(4 * store.get(1).steps.macs)}")
    expect(visitor.find("history-tree")).not_to_be_visible()
    check_keeping(visitor, store)


def check_keeping(visitor: Visitor, store: History) -> None:
    """What was profiled when the page was opened is kept when this is asked for, and not before."""
    assert store.count() == 2
    for _ in range(2):  # those that were compared
        visitor.find("history-runs").locator("input").press("Backspace")
    choose_runs(visitor, "unsaved 1")
    visitor.press("history-keep")
    visitor.sees("history-message", "Kept as run 3")
    assert store.get(3).request.model == OPENED


def history_tab(context: AppContext) -> HistoryTab:
    import gradio

    return HistoryTab(context, gradio.Tab("History"))


def test_a_visitor_from_another_machine_sees_no_kept_runs(models: Path) -> None:
    History().add(diffprof.profile("dit-xl-2-256", num_inference_steps=5), "profile")
    session = Session()
    session.add("profile", diffprof.profile("flux.1-dev"))
    for host, is_local in (("0.0.0.0", False), ("127.0.0.1", True)):
        tab = build_tab(history_tab, Setup(host=host))
        listed = tab.search(session, "", ANY)[tab.list]
        assert "flux.1-dev" in listed
        assert ("dit-xl-2-256" in listed) is is_local
        assert tab.keep_button.visible is is_local
