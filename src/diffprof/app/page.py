"""The page: its tabs, put together for one way of starting it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diffprof.app.setup import Setup
from diffprof.app.shelf import Shelf
from diffprof.app.visit import Visit

MOST_WAITING = 100


@dataclass(frozen=True)
class Page:
    """What all tabs share."""

    setup: Setup
    shelf: Shelf
    visit: Any
    """The component that holds the `Visit` of whoever looks at the page."""
    loaded: Any
    """The event that somebody opened the page."""


def built(setup: Setup, shelf: Shelf) -> Any:
    """The page as Gradio's blocks."""
    import gradio

    from diffprof.app.tabs.compare import compare_tab
    from diffprof.app.tabs.generate import generate_tab
    from diffprof.app.tabs.history import history_tab
    from diffprof.app.tabs.profile import profile_tab

    with gradio.Blocks(title="diffprof", analytics_enabled=False, fill_width=True, delete_cache=(3600, 3600)) as blocks:
        page = Page(setup, shelf, gradio.State(Visit()), blocks.load)
        gradio.HTML(
            "<h1>diffprof</h1><p>What a diffusion pipeline costs, where the cost goes and what to change.</p>",
            elem_id="head",
            padding=False,
        )
        with gradio.Tabs(overflow_behavior="wrap"):
            with gradio.Tab("Profile", id="profile"):
                profile_tab(page)
            with gradio.Tab("Generate", id="generate"):
                generate_tab(page)
            with gradio.Tab("Compare", id="compare"):
                compare_tab(page)
            with gradio.Tab("History", id="history") as tab:
                history_tab(page, tab)
    # Nobody gets past the line that others wait in, and it has an end.
    return blocks.queue(max_size=MOST_WAITING, api_open=False)
