"""Serving the page: where it listens, what it lets in, and that nothing of it comes from anywhere else."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import Mapping
from typing import Any

from diffprof.app.comparing import LARGEST_UPLOAD
from diffprof.app.page import built
from diffprof.app.setup import Setup
from diffprof.app.shelf import Shelf
from diffprof.app.working import end_all
from diffprof.errors import RequestError

LOCAL_NAMES = ["localhost", "127.0.0.1", "[::1]"]

# The browser itself refuses to ask anybody else for anything.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; object-src 'none'; base-uri 'self'; "
    "frame-ancestors 'self'"
)


def serve(setup: Setup) -> None:
    """Serve the page until it is interrupted."""
    with bound(setup) as listening:
        app = application(setup)
        host, port = listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        sys.stderr.write(f"diffprof: the page is at http://{shown}:{port} (end it with Ctrl+C)\n")
        # Ctrl+C is how a server ends, not how it fails.
        with contextlib.suppress(KeyboardInterrupt):
            server(app).run(sockets=[listening])
        end_all()


def application(setup: Setup) -> Any:
    """The page and its downloads as an application that any server of ASGI can run."""
    gradio = _gradio()
    from fastapi import FastAPI
    from fastapi.responses import Response
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    shelf = Shelf()
    app = FastAPI(openapi_url=None)

    @app.get("/files/{token}/{ending}")
    def file(token: str, ending: str) -> Response:
        found = shelf.file(token, ending)
        if found is None:
            return Response("This link is out of date; make the result again.", 404, media_type="text/plain")
        as_file = {"Content-Disposition": f'attachment; filename="{found.name}"'}
        return Response(found.content, media_type=found.media, headers=as_file)

    @app.middleware("http")
    async def guarded(request: Any, call_next: Any) -> Any:
        if setup.is_local and is_from_elsewhere(request.headers):
            return Response("Another site may not use this page.", 403, media_type="text/plain")
        response = await call_next(request)
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    if setup.is_local:
        # Another site's name that leads to this machine must not open the page.
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*LOCAL_NAMES, setup.host])
    from diffprof.app.looks import head, theme

    blocks = built(setup, shelf)
    # Only then does Gradio refuse a path of this machine that a visitor passes off as an upload of theirs.
    blocks.has_launched = True
    return gradio.mount_gradio_app(
        app, blocks, path="/", show_error=False, max_file_size=LARGEST_UPLOAD, footer_links=[],
        ssr_mode=False, mcp_server=False, pwa=False, enable_monitoring=False, theme=theme(),
        head=head(),
    )  # fmt: skip


def is_from_elsewhere(headers: Mapping[str, str]) -> bool:
    """Whether a page of another site makes the request; browsers say so where it could change or read something."""
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2] != headers.get("host")


def bound(setup: Setup) -> socket.socket:
    """A socket that listens where it was asked for, or the reason why there is none."""
    try:
        family = socket.AF_INET6 if ":" in setup.host else socket.AF_INET
        return socket.create_server((setup.host.strip("[]"), setup.port), family=family)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RequestError(
            f"Cannot listen on {setup.host}, port {setup.port}: {reason}; choose another with --port or --host."
        ) from error


def server(app: Any) -> Any:
    """What runs the application."""
    import uvicorn

    made = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    return made


def _is_news(record: logging.LogRecord) -> bool:
    """Not that pages were still open when the server was ended, each with a traceback."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, asyncio.CancelledError) and "graceful shutdown" not in str(record.msg)


def _gradio() -> Any:
    # Before it is imported: it would ask its makers for news.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    # It would keep all that visitors do, in their browsers or in a bucket of its makers.
    os.environ["GRADIO_RUN_HISTORY"] = "False"
    try:
        import gradio
    except ImportError as error:
        raise RequestError("The page needs Gradio; install it with `pip install 'diffprof[app]'`.") from error
    return gradio
