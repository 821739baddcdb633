"""End the work of visitors who leave while it is under way."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

MESSAGES = "/queue/data"
LAST_MESSAGE = b'"close_stream"'


class StreamWatch:
    """An ASGI layer that drops what a visitor has asked for when the stream of its messages breaks off.

    Gradio itself does so only if the stream breaks off while it waits for the next message, not while it sends one.
    """

    def __init__(self, app: Any, queue: Any) -> None:
        self.app, self.queue = app, queue

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request as the application does."""
        if scope["type"] != "http" or not scope["path"].endswith(MESSAGES):
            await self.app(scope, receive, send)
            return
        is_over = False

        async def watch(message: Any) -> None:
            nonlocal is_over
            is_over = is_over or LAST_MESSAGE in message.get("body", b"")
            await send(message)

        try:
            await self.app(scope, receive, watch)
        finally:
            if not is_over:
                (session, *_) = parse_qs(scope["query_string"].decode("latin-1")).get("session_hash", [""])
                await self.queue.clean_events(session_hash=session)
