"""Where the page listens, and which requests it refuses."""

from __future__ import annotations

import socket

import pytest

from diffprof.app.server import (
    _import_gradio,
    _no_type_stubs,
    bind_socket,
    content_policy,
    is_cross_origin,
    is_known_host,
)
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


def test_only_named_sites_may_show_the_page_in_a_frame() -> None:
    assert content_policy(Setup()).endswith("frame-ancestors 'self'")
    allowed = content_policy(Setup(framing_sites=("HuggingFace.co",)))
    assert allowed.endswith("frame-ancestors 'self' https://huggingface.co")
    for site in ("*", "a.b; script-src *", "https://a.b", ""):
        with pytest.raises(RequestError, match="--allow-frame takes the name of a site"):
            content_policy(Setup(framing_sites=(site,)))


LOCAL, OPEN = Setup(), Setup(host="0.0.0.0", allowed_hosts=("Proxy.example",))


@pytest.mark.parametrize(
    ("header", "setup", "known"),
    [
        ("127.0.0.1:7860", LOCAL, True),
        ("127.0.0.1", LOCAL, True),
        ("127.0.0.5:80", LOCAL, True),
        ("localhost:7860", LOCAL, True),
        ("LOCALHOST", LOCAL, True),
        ("[::1]:7860", LOCAL, True),
        ("192.168.1.5:7860", LOCAL, False),
        ("evil.example:7860", LOCAL, False),
        ("localhost.evil.example", LOCAL, False),
        ("127.0.0.1.evil.example", LOCAL, False),
        ("", LOCAL, False),
        ("[", LOCAL, False),
        ("evil.example:7860", OPEN, False),
        ("192.168.1.5:7860", OPEN, True),
        ("[fe80::1]:7860", OPEN, True),
        ("proxy.example", OPEN, True),
        (f"{socket.gethostname()}:7860", OPEN, True),
    ],
)
def test_a_name_that_others_can_point_at_this_machine_is_refused(header: str, setup: Setup, known: bool) -> None:
    assert is_known_host(header, setup) is known


def test_a_proxy_may_have_another_name_than_the_page() -> None:
    headers = {"host": "127.0.0.1:7860", "origin": "https://proxy.example:8443"}
    assert is_cross_origin(headers)
    assert not is_cross_origin(headers, ("Proxy.example",))


def test_gradio_writes_no_type_stubs_while_it_is_imported() -> None:
    component = _import_gradio().Button
    from gradio.component_meta import create_or_modify_pyi

    with _no_type_stubs():
        create_or_modify_pyi(component, "NoSuchComponent", [])
    with pytest.raises(ValueError, match="Couldn't find class source code"):
        create_or_modify_pyi(component, "NoSuchComponent", [])
