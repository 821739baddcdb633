"""The History tab: the runs of this session, and those kept on this machine."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from diffprof.app import runs, views
from diffprof.app.context import AppContext
from diffprof.app.session import Session
from diffprof.app.tabs.compare import comparison_blocks, comparison_charts
from diffprof.app.widgets import chart_block, html_block, show_chart, show_errors
from diffprof.comparison import compare
from diffprof.errors import RequestError
from diffprof.record.history import KINDS, KeptRun
from diffprof.render import charts, numbers
from diffprof.render.history import KEPT_AT, run_columns
from diffprof.render.report.markup import Markup, element

ANY = "any"
EMPTY = "None yet: what you profile and generate here is listed, and what `diffprof run --keep` keeps."

Updates = dict[Any, Any]
"""New values of components of the page."""


class HistoryTab:
    """The components of the tab, and the handlers of its events; `tab` is the Gradio tab."""

    def __init__(self, context: AppContext, tab: Any) -> None:
        import gradio as gr

        self.context = context
        with gr.Row():
            with gr.Column(scale=1, min_width=300):
                self._add_inputs()
            with gr.Column(scale=3, min_width=320):
                self._add_outputs()
        self._connect(tab)

    def _add_inputs(self) -> None:
        import gradio as gr

        self.text = gr.Textbox(
            label="Search", info="In names and prompts.", max_lines=1, max_length=200, elem_id="history-text"
        )
        self.kind = gr.Dropdown([ANY, *KINDS], value=ANY, label="Kind", filterable=False, elem_id="history-kind")
        self.runs = gr.Dropdown([], value=[], multiselect=True, label="Runs", elem_id="history-runs")
        with gr.Row():
            self.open_button = gr.Button("Open", variant="primary", min_width=80, elem_id="history-open")
            self.compare_button = gr.Button("Compare", min_width=80, elem_id="history-compare")
            self.keep_button = gr.Button(
                "Keep", min_width=80, elem_id="history-keep", visible=self.context.setup.is_local
            )

    def _add_outputs(self) -> None:
        import gradio as gr

        self.message = html_block("history-message")
        # Hidden by the style sheet; the page's script clicks it when a row is clicked.
        self.row_button = gr.Button("Open the row", elem_id="history-clicked")
        self.row = gr.Textbox(visible=False)
        self.list = html_block("history-list")
        self.image = gr.Image(
            label="Image", type="pil", format="png", interactive=False, visible=False, elem_id="history-picture",
            buttons=["download", "fullscreen"],
        )  # fmt: skip
        self.totals = html_block("history-totals")
        self.links = html_block("history-links")
        self.components = chart_block("Components, by MACs", "history-tree")
        self.charts = comparison_blocks("history")
        self.tables = html_block("history-tables")

    def _connect(self, tab: Any) -> None:
        import gradio as gr

        options: dict[str, Any] = {
            "show_progress": "minimal", "show_progress_on": self.message, "api_visibility": "private",
        }  # fmt: skip
        gr.on(
            [tab.select, self.text.change, self.kind.change], show_errors(self.message, self.search),
            [self.context.session, self.text, self.kind], [self.list, self.runs, self.message],
            trigger_mode="always_last", **options,
        )  # fmt: skip
        chosen = [self.context.session, self.runs]
        results = [
            self.message, self.image, self.totals, self.links, self.components, *self.charts, self.tables,
        ]  # fmt: skip
        shown = results[1:]
        self.open_button.click(show_errors(self.message, self.open, shown), chosen, results, **options)
        self.compare_button.click(show_errors(self.message, self.compare, shown), chosen, results, **options)
        self.row_button.click(
            show_errors(self.message, self.open_row, shown), [self.context.session, self.row],
            [*results, self.runs], js="(session, row) => [session, window.diffprofRow]", **options,
        )  # fmt: skip
        self.keep_button.click(show_errors(self.message, self.keep), chosen, [self.message], **options)

    def search(self, session: Session, text: str, kind: str) -> Updates:
        """List the runs that match."""
        import gradio as gr

        found = runs.search_runs(session, self.context.setup, text, None if kind == ANY else kind)
        empty = "No run matches." if text.strip() or kind != ANY else EMPTY
        return {
            self.list: _run_lists(found, empty, self.context.setup.is_local),
            self.runs: gr.Dropdown(choices=_choices(found)),
            self.message: "",
        }

    def open(self, session: Session, keys: Sequence[str]) -> Updates:
        """Show one run."""
        import gradio as gr

        if len(keys) != 1:
            raise RequestError("Choose one run to open, or several to compare.")
        run = runs.open_run(session, self.context.setup, keys[0])
        profile = run.profile
        measured = (
            views.findings_view(profile) + views.time_tables(profile, profile.measured) if profile.measured else ""
        )
        return {
            **self._clear(),
            self.image: gr.Image(value=_load_image(run.picture), visible=run.picture is not None),
            self.totals: views.totals_view(profile),
            self.links: views.result(self.context.downloads.links([profile], [run.name])),
            self.components: show_chart(charts.components_chart(profile)),
            self.tables: Markup(measured + views.count_tables(profile)),
        }

    def open_row(self, session: Session, key: str) -> Updates:
        """Show the run whose row was clicked, and choose it."""
        return {**self.open(session, [key]), self.runs: [key]}

    def compare(self, session: Session, keys: Sequence[str]) -> Updates:
        """Show several runs side by side."""
        if len(keys) < 2:
            raise RequestError("Choose at least two runs to compare.")
        opened = [runs.open_run(session, self.context.setup, key) for key in keys]
        comparison = compare([run.profile for run in opened], [run.name for run in opened])
        return {
            **self._clear(),
            self.totals: views.comparison_answer(comparison),
            self.links: views.result(self.context.downloads.links(comparison.profiles, comparison.names)),
            self.tables: views.comparison_view(comparison),
            **dict(zip(self.charts, comparison_charts(comparison), strict=True)),
        }

    def keep(self, session: Session, keys: Sequence[str]) -> Updates:
        """Add runs of this session to the history."""
        if not keys:
            raise RequestError("Choose the runs of this session to keep.")
        kept = [runs.keep_run(session, self.context.setup, key) for key in keys]
        names = ", ".join(map(str, kept))
        return {self.message: views.notice(f"Kept as run {names}; `diffprof history show {kept[0]}` shows it too.")}

    def _clear(self) -> Updates:
        """Updates that clear the previous results."""
        import gradio as gr

        hidden_charts = {chart: gr.Plot(visible=False) for chart in (self.components, *self.charts)}
        texts = dict.fromkeys([self.message, self.totals, self.links, self.tables], "")
        return {**texts, **hidden_charts, self.image: gr.Image(visible=False)}


def _choices(found: runs.RunList) -> list[tuple[str, str]]:
    return [
        *((f"unsaved {run.id} · {_describe(run)}", runs.run_key(runs.SESSION, run)) for run in found.session),
        *((f"run {run.id} · {_describe(run)}", runs.run_key(runs.KEPT, run)) for run in found.kept),
    ]


def _describe(run: KeptRun) -> str:
    size = f" · {run.width}x{run.height}" if run.width and run.height else ""
    return f"{run.kind} · {numbers.shorten(run.model, 28)}{size} · {numbers.macs(round(run.macs))}"


def _run_lists(found: runs.RunList, empty: str, is_local: bool) -> Markup:
    listed = f", the newest {len(found.kept)} of {numbers.exact(found.total)}" if found.total > len(found.kept) else ""
    parts = [element("h3", "This session"), _run_table(runs.SESSION, found.session, empty)]
    if is_local:
        parts += [
            element("h3", f"Kept on this machine{listed}"),
            _run_table(runs.KEPT, found.kept, empty),
        ]
    return views.result(*parts)


def _run_table(place: str, rows: Sequence[KeptRun], empty: str) -> Markup:
    columns = run_columns(rows)
    if place == runs.SESSION:  # they are not kept yet
        columns = [replace(column, heading="made (UTC)") if column.heading == KEPT_AT else column for column in columns]
    return views.run_table(columns, empty, [runs.run_key(place, run) for run in rows])


def _load_image(data: bytes | None) -> Any:
    """Decode the image; only the formats that are expected here are allowed."""
    from PIL import Image

    return Image.open(io.BytesIO(data), formats=["PNG", "JPEG", "WEBP"]) if data else None
