"""The web app of `diffprof app`: profile, generate, compare, and browse the history."""

from __future__ import annotations

from diffprof.app.setup import Setup

__all__ = ["Setup", "serve"]


def serve(setup: Setup) -> None:
    """Serve the page until interrupted; a `RequestError` if Gradio is missing or the port cannot be used."""
    from diffprof.app.server import serve as serve_page

    serve_page(setup)
