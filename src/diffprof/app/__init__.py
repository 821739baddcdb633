"""The page of `diffprof app`: profile, generate, compare, and browse the history. Other rooms do the work."""

from __future__ import annotations

from diffprof.app.setup import Setup

__all__ = ["Setup", "serve"]


def serve(setup: Setup) -> None:
    """Serve the page until it is interrupted; a `RequestError` says what is missing, or why it cannot listen."""
    from diffprof.app.server import serve as serve_page

    serve_page(setup)
