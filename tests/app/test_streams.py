"""Streams of messages that break off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from diffprof.app.streams import StreamWatch


class Queue:
    """Gradio's queue, as far as it is used: it notes whose work it drops."""

    def __init__(self) -> None:
        self.dropped: list[str] = []

    async def clean_events(self, session_hash: str) -> None:
        self.dropped.append(session_hash)


def visit(path: str, bodies: Sequence[dict[str, Any]]) -> tuple[list[str], list[Any]]:
    """Whose work was dropped, and what was sent, when an application sent these bodies."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        for body in bodies:
            await send({"type": "http.response.body", **body})

    async def note(message: Any) -> None:
        sent.append(message)

    queue, sent = Queue(), []
    scope = {"type": "http", "path": path, "query_string": b"session_hash=me"}
    # By hand: nothing in it waits, and a browser of other tests may have an event loop.
    with pytest.raises(StopIteration):
        StreamWatch(application, queue)(scope, None, note).send(None)  # type: ignore[attr-defined]
    return queue.dropped, sent


PART, LAST, CLOSING = (
    {"body": b"data", "more_body": True},
    {"body": b""},
    {"body": b'{"msg":"close_stream"}', "more_body": True},
)


@pytest.mark.parametrize(
    ("path", "bodies", "dropped"),
    [
        ("/gradio_api/queue/data", [PART], ["me"]),
        ("/gradio_api/queue/data", [], ["me"]),
        ("/gradio_api/queue/data", [PART, LAST], ["me"]),
        ("/gradio_api/queue/data", [PART, CLOSING, LAST], []),
        ("/files/token/json", [PART], []),
    ],
)
def test_work_is_dropped_when_the_stream_of_its_messages_breaks_off(
    path: str, bodies: list[dict[str, Any]], dropped: list[str]
) -> None:
    gone, sent = visit(path, bodies)
    assert gone == dropped
    assert [{key: value for key, value in message.items() if key != "type"} for message in sent] == bodies
