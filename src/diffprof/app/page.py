"""What the tabs of the page share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diffprof.app.downloads import Downloads
from diffprof.app.setup import Setup


@dataclass(frozen=True)
class Page:
    """What all tabs share."""

    setup: Setup
    downloads: Downloads
    session: Any
    """The component that holds the `Session` of the visitor."""
    loaded: Any
    """The event that a visitor opened the page."""
