"""Serve the page: listen, refuse unwanted requests, and load nothing from other hosts."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import ipaddress
import logging
import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diffprof.app.background import stop_all
from diffprof.app.downloads import PAGE, Downloads
from diffprof.app.layout import build_page
from diffprof.app.setup import Setup
from diffprof.app.streams import StreamWatch
from diffprof.app.uploads import LARGEST_UPLOAD, UploadLimit
from diffprof.errors import RequestError

if TYPE_CHECKING:
    from fastapi import FastAPI

LOCAL_NAMES = ("localhost",)

# Makes browsers refuse to load anything from other hosts.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; object-src 'none'; base-uri 'self'; "
    "frame-ancestors 'self'"
)
SITE = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*", re.IGNORECASE)

# Endpoints of Gradio that the page does not use: recordings, streams, links to a visitor's state, a code editor.
CLOSED = re.compile(
    r"/(gradio_api/)?(deep_link|process_recording|custom_component|component_server|stream|proxy=|(undo-)?vibe|"
    r"run-history|monitoring|dev/)"
)


def serve(setup: Setup) -> None:
    """Serve the page until it is interrupted."""
    with bind_socket(setup) as listening:
        app = application(setup)
        host, port = listening.getsockname()[:2]
        shown_host = f"[{host}]" if ":" in host else host
        sys.stderr.write(f"diffprof: the page is at http://{shown_host}:{port} (stop it with Ctrl+C)\n")
        # Ctrl+C is the normal way to stop a server.
        with contextlib.suppress(KeyboardInterrupt):
            create_server(app).run(sockets=[listening])
        stop_all()


def application(setup: Setup) -> Any:
    """The page and its downloads as an ASGI application."""
    gradio = _import_gradio()
    from fastapi import FastAPI

    downloads, app = Downloads(), FastAPI(openapi_url=None)
    _serve_files(app, downloads)
    _guard(app, setup)
    from diffprof.app.theme import create_theme, head_html

    blocks = build_page(setup, downloads)
    # Otherwise Gradio accepts a path of this machine as an upload.
    blocks.has_launched = True
    app.add_middleware(StreamWatch, queue=blocks._queue)
    return gradio.mount_gradio_app(
        app, blocks, path="/", show_error=False, max_file_size=LARGEST_UPLOAD, footer_links=[],
        ssr_mode=False, mcp_server=False, pwa=False, enable_monitoring=False, theme=create_theme(),
        head=head_html(),
    )  # fmt: skip


def _serve_files(app: FastAPI, downloads: Downloads) -> None:
    """Add routes for results as files and pages, and for the script that draws their charts."""
    from fastapi.responses import Response

    @app.get("/files/plotly.js")
    def plotly() -> Response:
        from diffprof.render.report.page import plotly_script

        # Under its own name, because Gradio has another version of plotly.
        script = f"(function () {{{plotly_script()}\nwindow.diffprofPlotly = Plotly;\n}})();"
        return Response(script, media_type="text/javascript", headers={"Cache-Control": "max-age=3600"})

    @app.get("/files/{token}/{ending}")
    def file(token: str, ending: str) -> Response:
        page = downloads.page(token) if ending == PAGE else None
        if page is not None:
            return Response(page, media_type="text/html")
        found = downloads.file(token, ending)
        if found is None:
            return Response("This link has expired; create the result again.", 404, media_type="text/plain")
        as_file = {"Content-Disposition": f'attachment; filename="{found.name}"'}
        return Response(found.content, media_type=found.media_type, headers=as_file)


def _guard(app: FastAPI, setup: Setup) -> None:
    """Refuse requests with an unknown host name, from other sites, to unused endpoints, or with too much data."""
    from fastapi.responses import Response

    uploads, policy = UploadLimit(), content_policy(setup)

    @app.middleware("http")
    async def guard(request: Any, call_next: Any) -> Any:
        if not is_known_host(request.headers.get("host", ""), setup):
            return Response(
                "This name is not one of the page's; --allow-host NAME of `diffprof app` allows it.",
                400,
                media_type="text/plain",
            )
        if is_cross_origin(request.headers, setup.allowed_hosts):
            return Response("Requests from other sites are refused.", 403, media_type="text/plain")
        if CLOSED.match(request.scope["path"]):
            return Response("There is nothing here.", 404, media_type="text/plain")
        refused = uploads.refusal(request.method, request.scope["path"], request.headers)
        if refused is not None:
            return Response(refused[1], refused[0], media_type="text/plain")
        response = await call_next(request)
        response.headers["Content-Security-Policy"] = policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response


def content_policy(setup: Setup) -> str:
    """What the browser may load, and which sites may show the page in a frame."""
    wrong = [site for site in setup.framing_sites if not SITE.fullmatch(site)]
    if wrong:
        raise RequestError(f"--allow-frame takes the name of a site, such as huggingface.co, not {wrong[0][:80]!r}.")
    return " ".join((POLICY, *(f"https://{site.lower()}" for site in setup.framing_sites)))


def is_known_host(header: str, setup: Setup) -> bool:
    """Whether the Host header names this page.

    This prevents DNS rebinding, in which a malicious site points its own name to the address of this machine to read
    and control the page. It can do so only with its own name, not with an address or another name.
    """
    host = header.strip().lower()
    host = host[: host.rindex("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        names = (*LOCAL_NAMES, setup.host, *setup.allowed_hosts)
        own = () if setup.is_local else (socket.gethostname(), socket.getfqdn(), f"{socket.gethostname()}.local")
        return bool(host) and host in {name.lower() for name in (*names, *own)}
    return address.is_loopback or not setup.is_local


def is_cross_origin(headers: Mapping[str, str], allowed_hosts: Sequence[str] = ()) -> bool:
    """Whether a page of another site sent the request, according to the headers that browsers add."""
    origin = headers.get("origin")
    if origin is None:
        return False
    place = origin.partition("://")[2]
    # A proxy may send its own name in one header and the page's in the other.
    return place != headers.get("host") and place.partition(":")[0].lower() not in map(str.lower, allowed_hosts)


def bind_socket(setup: Setup) -> socket.socket:
    """Open a listening socket; a `RequestError` if that fails."""
    try:
        family = socket.AF_INET6 if ":" in setup.host else socket.AF_INET
        return socket.create_server((setup.host.strip("[]"), setup.port), family=family)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RequestError(
            f"Cannot listen on {setup.host}, port {setup.port}: {reason}; choose another with --port or --host."
        ) from error


def create_server(app: Any) -> Any:
    """The server that runs the application."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    logging.getLogger("uvicorn.error").addFilter(_is_worth_logging)
    return server


def _is_worth_logging(record: logging.LogRecord) -> bool:
    """False for the tracebacks of pages that were still open when the server was stopped."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, asyncio.CancelledError) and "graceful shutdown" not in str(record.msg)


def _import_gradio() -> Any:
    # Set before the import, which would otherwise contact Gradio's servers.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    # Otherwise Gradio stores what visitors do, in their browsers or on its servers.
    os.environ["GRADIO_RUN_HISTORY"] = "False"
    # Otherwise it sums up all requests so far after each one, with pandas, for a dashboard that is closed here.
    os.environ["GRADIO_ANALYTICS_CACHE_FREQUENCY"] = str(sys.maxsize)
    try:
        with _no_type_stubs():
            import gradio
    except ImportError as error:
        raise RequestError("The page needs Gradio; install it with `pip install 'diffprof[app]'`.") from error
    return gradio


@contextlib.contextmanager
def _no_type_stubs() -> Iterator[None]:
    """Keep Gradio from writing type stubs of its components into its own folder, which is half of its import.

    It leaves out components that have no file.
    """
    find_file = inspect.getfile

    def find_file_of_others(thing: Any) -> str:
        if str(getattr(thing, "__module__", "")).startswith("gradio."):
            raise OSError("no type stubs")
        return find_file(thing)

    inspect.getfile = find_file_of_others  # type: ignore[assignment]
    try:
        yield
    finally:
        inspect.getfile = find_file
