"""The Files tab: pages about profiles, traces, memory snapshots and pictures that are dropped on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from diffprof.app import views
from diffprof.app.background import Done, Failed, run_for_session
from diffprof.app.context import AppContext
from diffprof.app.dropped_files import ENDINGS, page_of_files
from diffprof.app.session import Session
from diffprof.app.widgets import connect_stop_button, hide_all, html_block, show_errors, stop_button, two_columns
from diffprof.record.progress import Activity, Progress, ProgressEvent
from diffprof.render.report.markup import element

TAB = "files"
HINT = (
    "Drop files here: a saved profile for its report, several for a comparison, a trace of torch.profiler for where "
    "the GPU time went, a memory snapshot for whose memory it was, pictures for how far they are apart. Nothing leaves "
    "this machine, and nothing in a file is run."
)


class FilesTab:
    """The components of the tab, and the handlers of its events."""

    def __init__(self, context: AppContext) -> None:
        self.context = context
        two_columns(self._add_inputs, self._add_outputs)
        self._connect()

    def _add_inputs(self) -> None:
        import gradio as gr

        self.files = gr.File(
            label="Profiles, traces, snapshots, pictures", file_count="multiple", file_types=list(ENDINGS),
            height=220, elem_id="files-files",
        )  # fmt: skip
        self.stop = stop_button("files-stop")

    def _add_outputs(self) -> None:
        self.message = html_block("files-message", views.notice(HINT))
        self.page = html_block("files-page")

    def _connect(self) -> None:
        opening = self.files.change(
            show_errors(self.message, self.open, [self.page]), [self.context.session, self.files],
            [self.message, self.page], trigger_mode="always_last", concurrency_id="counting", concurrency_limit=2,
            show_progress="minimal", show_progress_on=self.message, api_visibility="private",
        )  # fmt: skip
        connect_stop_button(self.stop, self.context, TAB, self.message, [opening])

    def open(self, session: Session, paths: Sequence[str] | None) -> Iterator[dict[Any, Any]]:
        """Read the current files, and show the page about them."""
        if not paths:
            yield {self.message: views.notice(HINT), self.page: ""}
            return

        def work(progress: Progress) -> str:
            progress(ProgressEvent(Activity.reading))
            return page_of_files(paths)

        for status in run_for_session(session, TAB, work):
            if isinstance(status, Done):
                yield {self.message: "", self.page: self._show(status.value)}
            else:
                cleared = hide_all([self.page]) if isinstance(status, Failed) else {}
                yield {**cleared, self.message: views.status_view(status)}

    def _show(self, html: str) -> str:
        address = self.context.downloads.page_address(html)
        link = element("a", "Open in a new window", href=address, target="_blank", class_="download")
        frame = element("iframe", src=address, title="What the files say")
        return views.result(element("p", link, class_="downloads"), frame)
