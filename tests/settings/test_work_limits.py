"""The limits of opening and counting: an option is stronger than a setting, and that than what the command line has."""

from __future__ import annotations

import contextvars
from dataclasses import replace

import pytest

from diffprof.errors import RequestError
from diffprof.settings.work_limits import (
    COMMAND_LINE,
    NO_LIMITS,
    WorkLimits,
    set_option,
    set_work_limits,
    work_limits,
)


def test_a_program_has_no_limits_unless_it_sets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert work_limits() == NO_LIMITS == WorkLimits(None, None)
    monkeypatch.setenv("DIFFPROF_LIMIT_MEMORY", "3GB")
    monkeypatch.setenv("DIFFPROF_LIMIT_TIME", "7.5")
    assert work_limits() == WorkLimits(3_000_000_000, 7.5)


def test_an_option_is_stronger_than_a_setting_and_holds_in_its_context_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_LIMIT_MEMORY", "3GB")

    def command() -> WorkLimits:
        set_work_limits(COMMAND_LINE)
        set_option("memory", "8GiB")
        set_option("time", None)
        return work_limits()

    assert contextvars.copy_context().run(command) == replace(COMMAND_LINE, memory_bytes=8 * 1024**3)
    assert work_limits() == WorkLimits(3_000_000_000, None)


def test_no_limit_can_be_asked_for() -> None:
    def command() -> WorkLimits:
        set_work_limits(COMMAND_LINE)
        set_option("memory", "none")
        set_option("time", "none")
        return work_limits()

    assert contextvars.copy_context().run(command) == replace(NO_LIMITS, ends_process=True)


@pytest.mark.parametrize(("name", "text"), [("memory", "much"), ("time", "0"), ("time", "soon")])
def test_what_is_no_limit_is_refused(name: str, text: str) -> None:
    with pytest.raises(RequestError, match=f"--limit-{name} must be"):
        set_option(name, text)
