"""The page of `diffprof app`: profile, generate, compare, and look at what was kept. It asks and shows, no more."""

from __future__ import annotations

from diffprof.app.setup import Setup

__all__ = ["Setup", "serve"]


def serve(setup: Setup) -> None:
    """Serve the page until it is interrupted; a `RequestError` says what is missing or where it cannot listen."""
    from diffprof.app.serving import serve as serve_page

    serve_page(setup)
