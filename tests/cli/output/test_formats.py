"""Contradicting formats and unknown endings are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.cli.output.formats import check_ending, check_formats
from diffprof.errors import RequestError


def test_one_format_at_a_time() -> None:
    check_formats(json=False, csv=False)
    check_formats(json=False, csv=True)
    with pytest.raises(RequestError, match="--json and --markdown exclude each other; choose one"):
        check_formats(json=True, csv=False, markdown=True)


def test_each_command_has_its_own_endings() -> None:
    check_ending(Path("outcome.XML"), (".xml",))
    with pytest.raises(RequestError, match=r"Cannot tell the format of outcome; use one of \.xml"):
        check_ending(Path("outcome"), (".xml",))
