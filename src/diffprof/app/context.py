"""The context that all tabs share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diffprof.app.downloads import Downloads
from diffprof.app.setup import Setup


@dataclass(frozen=True)
class AppContext:
    """The setup, the downloads, and the visitor's session."""

    setup: Setup
    downloads: Downloads
    session: Any
    """The Gradio component that holds the visitor's `Session`."""
    loaded: Any
    """The Gradio event of a visitor opening the page."""
