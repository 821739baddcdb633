"""The console shows the right figures at every width, and nothing from outside can disturb it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest
from rich.cells import cell_len
from rich.console import Console

from diffprof.breakdown.modules import module_table
from diffprof.record.profile import Profile
from diffprof.render import numbers
from diffprof.render.profile_console import print_profile, profile_text
from diffprof.render.table_names import ProfileTable
from tests.sample_profiles import hostile, nothing, stable_diffusion

MADE_BY_HAND = [stable_diffusion, nothing, hostile]


@pytest.mark.parametrize("width", [50, 80, 100, 140])
def test_components_look_as_they_should(width: int, golden: Callable[[str, str], None]) -> None:
    golden(f"component-{width}.txt", profile_text(stable_diffusion(), width))


@pytest.mark.parametrize("by", [ProfileTable.kind, ProfileTable.module, ProfileTable.attention, ProfileTable.call])
@pytest.mark.parametrize("width", [80, 120])
def test_the_other_tables_look_as_they_should(by: ProfileTable, width: int, golden: Callable[[str, str], None]) -> None:
    golden(f"{by.value}-{width}.txt", profile_text(stable_diffusion(), width, by, depth=2))


def test_verbose_lists_the_assumptions(golden: Callable[[str, str], None]) -> None:
    golden("verbose.txt", profile_text(stable_diffusion(), 100, verbose=True))


def test_hostile_names_stay_names(golden: Callable[[str, str], None]) -> None:
    shown = profile_text(hostile(), 100, verbose=True)
    golden("hostile.txt", shown)
    assert "[red]evil[/red]" in shown
    assert "\x1b" not in shown


def test_a_pipeline_that_called_nothing_can_be_shown(golden: Callable[[str, str], None]) -> None:
    golden("nothing.txt", profile_text(nothing(), 80))


@pytest.mark.parametrize("make", MADE_BY_HAND)
@pytest.mark.parametrize("by", list(ProfileTable))
@pytest.mark.parametrize("width", [20, 40, 60, 79, 80, 99, 119, 200])
def test_no_line_is_wider_than_the_console(make: Callable[[], Profile], by: ProfileTable, width: int) -> None:
    lines = profile_text(make(), width, by, depth=3, verbose=True).splitlines()
    assert max(cell_len(line) for line in lines) <= width


@pytest.mark.parametrize("width", range(20, 160, 7))
def test_no_number_is_ever_cut(width: int) -> None:
    shown = profile_text(stable_diffusion(), width, ProfileTable.module, depth=2)
    table = shown[: shown.index("Total")]
    for row in module_table(stable_diffusion(), depth=2):
        assert numbers.short(row.macs) in table


@pytest.mark.parametrize("width", [60, 80, 140])
def test_totals_are_exact_and_have_units(width: int) -> None:
    shown = " ".join(profile_text(stable_diffusion(), width).split())
    total = stable_diffusion().total
    assert f"exactly {total.macs:,} MACs = {total.flops:,} FLOPs" in shown
    assert "26.23 TMACs = 52.47 TFLOPs" in shown


def _printed(profile: Profile, **options: object) -> str:
    file = io.StringIO()
    print_profile(profile, Console(file=file, width=80, **options))  # type: ignore[arg-type]
    return file.getvalue()


def test_a_terminal_gets_colours_and_a_pipe_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert "\x1b[" in _printed(stable_diffusion(), force_terminal=True, color_system="standard")
    assert "\x1b" not in _printed(stable_diffusion(), force_terminal=False)


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shown = _printed(stable_diffusion(), force_terminal=True, color_system="standard")
    assert not re.search(r"\x1b\[[\d;]*3\dm", shown), "bold and dim may stay, colours may not"


def test_where_only_ascii_is_known_there_is_only_ascii() -> None:
    for by in ProfileTable:
        shown = profile_text(stable_diffusion(), 80, by, encoding="ascii")
        assert shown.isascii()
    assert "########" in profile_text(stable_diffusion(), 80, encoding="ascii")
