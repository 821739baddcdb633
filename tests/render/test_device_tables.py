"""The tables by device and by rank."""

from __future__ import annotations

from diffprof.record.profile import Profile
from diffprof.render.columns import Column
from diffprof.render.device_tables import device_columns, rank_columns
from tests.sample_iterations import GPU, iteration_on
from tests.sample_profiles import everything_measured, measured_profile, on_two_gpus, stable_diffusion


def cells(columns: list[Column]) -> dict[str, list[str]]:
    return {column.heading.replace("\n", " "): list(column.cells) for column in columns}


def device_cells(profile: Profile) -> dict[str, list[str]]:
    return cells(device_columns(profile, ascii_only=True))


def test_the_table_names_the_difference() -> None:
    columns = device_cells(on_two_gpus())
    assert columns["device"] == [f"cuda\n{GPU.name}", "cuda:1\nNVIDIA L4"]
    assert columns["reserved, not used"][1] == "2.00 GB"
    assert columns["clock"] == ["1,400 to 1,900 MHz", "-"]
    assert columns["clock lowered"] == ["50.0 % by power cap", "-"]
    assert columns["hottest"] == ["70 °C", "-"]


def test_what_nobody_knows_has_no_column() -> None:
    unsampled = device_cells(measured_profile(device=GPU, iterations=[iteration_on(GPU)]))
    assert "allocated" in unsampled and not unsampled.keys() & {"power", "clock", "hottest", "busy"}


def test_without_rows_only_the_headings_are_left() -> None:
    assert set(map(tuple, device_cells(measured_profile()).values())) == {()}
    assert set(map(tuple, cells(rank_columns(stable_diffusion(), True)).values())) == {()}


def test_every_rank_has_its_time_and_what_it_sent() -> None:
    columns = cells(rank_columns(everything_measured(), ascii_only=True))
    assert columns["rank"] == ["0", "1"]
    assert columns["part"] == ["generation", "generation"]
    assert columns["time"] == ["1.00 ms", "2.00 ms"]
    assert columns["MACs"] == ["1.00 G", "-"]
    assert columns["device"] == ["NVIDIA A100 (cuda:0)", "NVIDIA A100 (cuda:1)"]
    assert "calls" not in columns  # of whole generations there is one
