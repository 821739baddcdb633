"""Accelerators of the user: kept in a file of their own, known by name beside the catalogue's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from diffprof.catalogue.accelerators import accelerators, find_accelerator, read_accelerators
from diffprof.catalogue.own_accelerators import keep_accelerator, known_accelerators, own_file
from diffprof.errors import FileFormatError


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def test_without_a_file_there_are_those_of_the_catalogue() -> None:
    assert known_accelerators() == accelerators()


def test_what_is_kept_is_known_by_its_name() -> None:
    entry = replace(
        find_accelerator("rtx-4090"), name="my-card", aliases=(), measured={"speed": 0.9, "norm_passes": 2.0}
    )
    assert keep_accelerator(entry) == own_file()
    found = find_accelerator("my-card", known_accelerators())
    assert found.measured == {"speed": 0.9, "norm_passes": 2.0}
    assert found.peak_flops_per_second == pytest.approx(entry.peak_flops_per_second)
    assert (found.memory_bytes, found.host_link) == (entry.memory_bytes, entry.host_link)


def test_one_of_the_same_name_is_replaced_and_others_stay(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    base = replace(find_accelerator("rtx-4090"), aliases=())
    for name, speed in (("a", 1.0), ("b", 1.0), ("a", 2.0)):
        keep_accelerator(replace(base, name=name, measured={"speed": speed}), file)
    assert {entry.name: entry.measured["speed"] for entry in read_accelerators(file)} == {"a": 2.0, "b": 1.0}


def test_a_number_that_the_time_model_does_not_have_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    keep_accelerator(replace(find_accelerator("rtx-4090"), aliases=(), measured={"speed": 1.0}), file)
    file.write_text(file.read_text(encoding="utf-8").replace("speed = 1", "warp = 9"), encoding="utf-8")
    with pytest.raises(FileFormatError, match="warp is not a number of the time model"):
        read_accelerators(file)


def test_numbers_that_an_earlier_version_measured_are_ignored(tmp_path: Path) -> None:
    file = tmp_path / "hardware.toml"
    keep_accelerator(replace(find_accelerator("rtx-4090"), name="mine", aliases=(), measured={"speed": 0.9}), file)
    file.write_text(file.read_text(encoding="utf-8") + "masked_attention_share = 0.5\n", encoding="utf-8")
    assert read_accelerators(file)[0].measured == {"speed": 0.9}
