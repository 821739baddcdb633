"""What the tabs share."""

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
    """The component that holds the `Session` of the visitor."""
    loaded: Any
    """The event that a visitor opened the page."""
