"""The layout of the page as Gradio blocks: heading and tabs."""

from __future__ import annotations

from typing import Any

from diffprof.app.context import AppContext
from diffprof.app.downloads import Downloads
from diffprof.app.session import Session
from diffprof.app.setup import Setup

MAX_WAITING = 100
REST_SECONDS = 0.02
"""How long Gradio rests when it finds no work. By itself it looks a thousand times a second, a twelfth of a core."""


def build_page(setup: Setup, downloads: Downloads) -> Any:
    """Build the page as Gradio blocks."""
    import gradio

    from diffprof.app.tabs.compare import CompareTab
    from diffprof.app.tabs.files import FilesTab
    from diffprof.app.tabs.generate import GenerateTab
    from diffprof.app.tabs.history import HistoryTab
    from diffprof.app.tabs.profile import ProfileTab

    with gradio.Blocks(title="diffprof", analytics_enabled=False, fill_width=True, delete_cache=(3600, 3600)) as blocks:
        context = AppContext(setup, downloads, gradio.State(Session()), blocks.load)
        gradio.HTML(
            "<h1>diffprof</h1><p>What a diffusion pipeline costs, where the cost goes, and what to change.</p>",
            elem_id="head",
            padding=False,
        )
        with gradio.Tabs(overflow_behavior="wrap"):
            with gradio.Tab("Profile", id="profile"):
                ProfileTab(context)
            with gradio.Tab("Generate", id="generate"):
                GenerateTab(context)
            with gradio.Tab("Compare", id="compare"):
                CompareTab(context)
            with gradio.Tab("Files", id="files"):
                FilesTab(context)
            with gradio.Tab("History", id="history") as tab:
                HistoryTab(context, tab)
    # The queue is bounded, and no request bypasses it.
    blocks.queue(max_size=MAX_WAITING, api_open=False)
    blocks._queue.sleep_when_free = REST_SECONDS
    return blocks
