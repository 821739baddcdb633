"""From the options of the command line to the call arguments of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from diffprof.record.request import Request, parse_number
from diffprof.settings.limits import dtype_name

__all__ = ["call_arguments", "dtype_name", "whole_number"]


def call_arguments(options: Mapping[str, str | None], settings: Iterable[str]) -> dict[str, Any]:
    """The arguments that were given: those with an option of their own, and those of ``--set KEY=VALUE``."""
    return dict(Request.parse("", options, settings).arguments)


def whole_number(option: str, text: str) -> int:
    """The number that was typed for an option."""
    return int(parse_number(option.removeprefix("--"), text))
