"""What an option is called, and what it takes for one result."""

from __future__ import annotations

from dataclasses import replace

from diffprof.record.advice import Advice, Option
from diffprof.record.fit import HostMemory, MemoryPeak
from diffprof.record.run_settings import RunSettings

OPTION = Option(
    ("steps 20", "offload model"), "sdxl", RunSettings(offload="model"), "medium", ("steps 20",), 4, 10.0, 9.0, 12.0,
    None, None, MemoryPeak(1, 2, 3, "decode", "vae", ""), HostMemory(4, 0, 4), True,
)  # fmt: skip


def test_an_option_is_named_after_its_changes() -> None:
    assert OPTION.name == "steps 20 + offload model"
    assert replace(OPTION, changes=()).name == "as requested"


def test_its_seconds_are_those_of_one_result() -> None:
    assert OPTION.seconds == 10.0 / 4


def test_advice_is_one_line_where_python_shows_it() -> None:
    advice = Advice("sdxl", "l4", "time", OPTION, (OPTION, OPTION), tried=9)
    assert repr(advice) == "<Advice for sdxl on l4: 2 of 9 options>"
