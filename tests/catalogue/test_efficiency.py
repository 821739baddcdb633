"""The fitted numbers: each with a meaning and a source, for all accelerators, families and single ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof.catalogue.accelerators import accelerators, find_accelerator
from diffprof.catalogue.efficiency import FILE, family_of, fitted_numbers, read_numbers
from diffprof.catalogue.efficiency_numbers import NAMES
from diffprof.errors import FileFormatError


def test_every_number_is_positive_and_says_where_it_came_from() -> None:
    numbers = fitted_numbers()
    assert set(numbers.shared) == set(NAMES)
    for table in (numbers.shared, *numbers.families.values()):
        for number in table.values():
            assert number.value > 0
            assert number.meaning
            assert number.source


def test_every_family_and_accelerator_in_the_file_exists() -> None:
    known = {family_of(entry) for entry in accelerators()} | {entry.name for entry in accelerators()}
    assert set(fitted_numbers().families) <= known


def test_chips_for_graphics_are_a_family_of_their_own() -> None:
    assert family_of(find_accelerator("a100-sxm-80gb")) == "ampere"
    assert family_of(find_accelerator("rtx-3090")) == "ampere-graphics"
    assert family_of(find_accelerator("a10")) == "ampere-graphics"
    assert family_of(find_accelerator("b200")) == "blackwell"
    assert family_of(find_accelerator("rtx-5090")) == "blackwell-graphics"


def test_a_number_of_the_accelerator_comes_before_that_of_its_family_and_that_for_all() -> None:
    numbers = fitted_numbers()
    changed = numbers.with_values({("t4", "speed"): 0.5, ("turing", "attention_share"): 0.25, ("", "norm_passes"): 9.0})
    efficiency = changed.efficiency(find_accelerator("t4"))
    assert (efficiency.speed, efficiency.attention_share, efficiency.norm_passes) == (0.5, 0.25, 9.0)
    assert numbers.efficiency(find_accelerator("t4")).speed != 0.5


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("format = 1", "format = 2"), "format must be 1"),
        (("kernel_seconds = { value =", "kernel_seconds = { value = -1e-6, old ="), "value must be more than 0"),
        (("kernel_seconds =", "kernel_hours ="), "kernel_hours is not a known key"),
    ],
)
def test_a_file_with_nonsense_is_refused(change: tuple[str, str], sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "efficiency.toml"
    file.write_text(FILE.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    with pytest.raises(FileFormatError, match=sentence):
        read_numbers(file)
