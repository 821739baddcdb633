"""Where the page listens, and which requests it refuses."""

from __future__ import annotations

import socket

import pytest

from diffprof.app.server import bind_socket, is_cross_origin
from diffprof.app.setup import Setup
from diffprof.errors import RequestError


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RequestError, match=rf"Cannot listen on 127.0.0.1, port {port}: .*--port"):
            bind_socket(Setup(port=port))


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a" * 70, "256.1.1.1"])
def test_an_address_that_cannot_be_bound_is_named(host: str) -> None:
    with pytest.raises(RequestError, match=r"Cannot listen on .*--host"):
        bind_socket(Setup(host=host, port=0))


@pytest.mark.parametrize(
    ("headers", "cross_origin"),
    [
        ({"host": "127.0.0.1:7860"}, False),
        ({"host": "127.0.0.1:7860", "origin": "http://127.0.0.1:7860"}, False),
        ({"host": "127.0.0.1:7860", "origin": "http://127.0.0.1:9999"}, True),
        ({"host": "127.0.0.1:7860", "origin": "https://evil.example"}, True),
        ({"host": "127.0.0.1:7860", "origin": "null"}, True),
    ],
)
def test_a_request_of_another_site_is_recognized(headers: dict[str, str], cross_origin: bool) -> None:
    assert is_cross_origin(headers) is cross_origin
