"""The tab History: what was made during this visit, and what is kept on this machine."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from diffprof.app import runs, showing
from diffprof.app.comparing import SideBySide
from diffprof.app.page import Page
from diffprof.app.pieces import drawn, plot, safely, written
from diffprof.app.tabs.compare import all_drawn, comparison_plots
from diffprof.app.visit import Visit
from diffprof.comparison import compare
from diffprof.errors import RequestError
from diffprof.record.history import KINDS, KeptRun
from diffprof.render import charts, numbers
from diffprof.render.history import run_columns
from diffprof.render.report.markup import Markup, element

ANY = "any"


def history_tab(page: Page, tab: Any) -> None:
    """Lay the tab out and connect it; `tab` is what opens it."""
    import gradio as gr

    with gr.Row():
        with gr.Column(scale=1, min_width=300):
            text = gr.Textbox(
                label="Search", info="In names and prompts.", max_lines=1, max_length=200, elem_id="history-text"
            )
            kind = gr.Dropdown([ANY, *KINDS], value=ANY, label="Kind", filterable=False, elem_id="history-kind")
            chosen = gr.Dropdown([], value=[], multiselect=True, label="Runs", elem_id="history-runs")
            with gr.Row():
                open_ = gr.Button("Open", variant="primary", min_width=80, elem_id="history-open")
                against = gr.Button("Compare", min_width=80, elem_id="history-compare")
                keep = gr.Button("Keep", min_width=80, elem_id="history-keep", visible=page.setup.is_local)
        with gr.Column(scale=3, min_width=320):
            message = written("history-message")
            listed = written("history-list")
            picture = gr.Image(
                label="Picture", type="pil", format="png", interactive=False, visible=False, elem_id="history-picture",
                buttons=["download", "fullscreen"],
            )  # fmt: skip
            totals = written("history-totals")
            links = written("history-links")
            components = plot("Components, by MACs", "history-tree")
            plots = comparison_plots("history")
            tables = written("history-tables")
    results = [picture, totals, links, components, *plots, tables]
    nothing = {picture: gr.Image(visible=False), components: gr.Plot(visible=False), totals: "", links: "", tables: ""}

    def cleared() -> dict[Any, Any]:
        return {**nothing, **{plot: gr.Plot(visible=False) for plot in plots}}

    def search(visit: Visit, words: str, of: str) -> dict[Any, Any]:
        found = runs.found(visit, page.setup, words, None if of == ANY else of)
        nobody = "No run is like that." if words.strip() or of != ANY else "None yet."
        return {listed: _listed(page, found, nobody), chosen: gr.Dropdown(choices=_choices(found)), message: ""}

    def opened(visit: Visit, keys: Sequence[str]) -> dict[Any, Any]:
        if len(keys) != 1:
            raise RequestError("Choose one run to open, or several to compare.")
        run = runs.opened(visit, page.setup, keys[0])
        profile = run.profile
        return {
            **cleared(),
            message: "",
            picture: gr.Image(value=_picture(run.picture), visible=run.picture is not None),
            totals: showing.totals(profile),
            links: showing.result(page.shelf.links([profile], [run.name])),
            components: drawn(charts.components_chart(profile)),
            tables: Markup(
                (showing.found(profile) + showing.time_tables(profile, profile.measured) if profile.measured else "")
                + showing.count_tables(profile)
            ),
        }

    def compared(visit: Visit, keys: Sequence[str]) -> dict[Any, Any]:
        if len(keys) < 2:
            raise RequestError("Choose two runs or more to compare.")
        found = [runs.opened(visit, page.setup, key) for key in keys]
        one = SideBySide([run.profile for run in found], [run.name for run in found])
        return {
            **cleared(),
            message: "",
            links: showing.result(page.shelf.links(one.profiles, one.names)),
            tables: showing.compared(compare(one.profiles, one.names)),
            **dict(zip(plots, all_drawn(one), strict=True)),
        }

    def kept(visit: Visit, keys: Sequence[str]) -> dict[Any, Any]:
        if not keys:
            raise RequestError("Choose the runs of this visit that are to be kept.")
        numbers_ = [runs.keep(visit, page.setup, key) for key in keys]
        names = ", ".join(map(str, numbers_))
        return {message: showing.notice(f"KeptRun as run {names}; `diffprof history show {numbers_[0]}` shows it too.")}

    quiet: dict[str, Any] = {"show_progress": "minimal", "show_progress_on": message, "api_visibility": "private"}
    looked = [page.visit, text, kind]
    gr.on(
        [tab.select, text.change, kind.change],
        safely(message, search),
        looked,
        [listed, chosen, message],
        trigger_mode="always_last",
        **quiet,
    )
    open_.click(safely(message, opened), [page.visit, chosen], [message, *results], **quiet)
    against.click(safely(message, compared), [page.visit, chosen], [message, *results], **quiet)
    keep.click(safely(message, kept), [page.visit, chosen], [message], **quiet)


def _choices(found: runs.Found) -> list[tuple[str, str]]:
    return [
        *((f"visit {run.id} · {_about(run)}", runs.key(runs.VISIT, run)) for run in found.visit),
        *((f"run {run.id} · {_about(run)}", runs.key(runs.KEPT, run)) for run in found.kept),
    ]


def _about(run: KeptRun) -> str:
    size = f" · {run.width}x{run.height}" if run.width and run.height else ""
    return f"{run.kind} · {numbers.shorten(run.model, 28)}{size} · {numbers.macs(round(run.macs))}"


def _listed(page: Page, found: runs.Found, nobody: str) -> Markup:
    shown = f"the newest {len(found.kept)} of {numbers.exact(found.total)}" if found.total > len(found.kept) else ""
    parts = [element("h3", "This visit"), showing.listed(run_columns(found.visit), nobody)]
    if page.setup.is_local:
        parts += [
            element("h3", f"KeptRun on this machine{f', {shown}' if shown else ''}"),
            showing.listed(run_columns(found.kept), nobody),
        ]
    return showing.result(*parts)


def _picture(data: bytes | None) -> Any:
    """Read as what it should be and nothing else."""
    from PIL import Image

    return Image.open(io.BytesIO(data), formats=["PNG", "JPEG", "WEBP"]) if data else None
