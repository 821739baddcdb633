"""The options of the page."""

from __future__ import annotations

import pytest

from diffprof.app.setup import Setup


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.0.0.5", True), ("0.0.0.0", False), ("box", False)],
)
def test_only_this_machine_is_local(host: str, local: bool) -> None:
    assert Setup(host=host).is_local is local
