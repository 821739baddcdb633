"""Every table as CSV and as Parquet: the same rows, exact."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from diffprof.errors import RequestError
from diffprof.record.profile import Profile
from diffprof.render.exports.tables import DataTable, _parquet, data_tables, profile_csv, write_tables
from diffprof.render.table_names import ProfileTable
from tests.render.report.reports import hostile_everywhere
from tests.sample_profiles import everything_measured, hostile, nothing, stable_diffusion

COUNTED = {"components", "kinds", "modules", "attention", "calls", "operations"}
MEASURED = {
    "sections", "throughput", "steps", "step_samples", "memory_moments", "memory_peaks", "caches", "cache_steps",
    "moves", "devices", "ranks", "system",
}  # fmt: skip


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as opened:
        return list(csv.DictReader(opened))


def test_a_counted_profile_has_the_tables_of_what_was_counted() -> None:
    assert set(data_tables(stable_diffusion())) == COUNTED


def test_a_measured_profile_has_all_tables_and_rows_in_each() -> None:
    tables = data_tables(everything_measured())
    assert set(tables) == COUNTED | MEASURED
    assert [name for name, table in tables.items() if not table.rows] == []


def test_csv_has_exact_numbers(tmp_path: Path) -> None:
    whole = stable_diffusion()
    files = write_tables(whole, tmp_path / "new" / "folder")
    assert {file.name for file in files} == {f"{name}.csv" for name in COUNTED}
    operations = rows_of(tmp_path / "new" / "folder" / "operations.csv")
    assert sum(int(row["macs"]) for row in operations) == whole.total.macs
    assert operations[0]["operation"] == "aten::convolution"


@pytest.mark.parametrize("made", [everything_measured, nothing, hostile_everywhere])
def test_parquet_has_the_same_rows_as_csv(made: object, tmp_path: Path) -> None:
    from pyarrow import parquet

    whole: Profile = made()  # type: ignore[operator]
    write_tables(whole, tmp_path / "csv")
    write_tables(whole, tmp_path / "parquet", parquet=True)
    for name, table in data_tables(whole).items():
        written = parquet.read_table(tmp_path / "parquet" / f"{name}.parquet")
        assert written.column_names == list(table.types)
        plain = rows_of(tmp_path / "csv" / f"{name}.csv")
        assert written.num_rows == len(plain) == len(table.rows)
        for column in written.column_names:
            if table.types[column] is int:
                assert [str(value) for value in written[column].to_pylist()] == [row[column] for row in plain]


def test_parquet_columns_have_types_also_where_there_are_no_rows(tmp_path: Path) -> None:
    from pyarrow import parquet

    write_tables(nothing(), tmp_path, parquet=True)
    types = dict(zip(*_schema(parquet.read_table(tmp_path / "calls.parquet")), strict=True))
    assert (types["component"], types["macs"], types["share"], types["steps"]) == (
        "string", "int64", "double", "list<element: int64>",
    )  # fmt: skip


def _schema(table: object) -> tuple[list[str], list[str]]:
    schema = table.schema  # type: ignore[attr-defined]
    return schema.names, [str(kind) for kind in schema.types]


def test_without_pyarrow_a_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RequestError, match=r"pip install 'diffprof\[parquet\]'"):
        write_tables(stable_diffusion(), tmp_path / "x", parquet=True)
    assert not (tmp_path / "x").exists()


def csv_rows(profile: Profile, by: ProfileTable, depth: int = 9) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(profile_csv(profile, by, depth))))


def test_components_are_exact() -> None:
    rows = csv_rows(stable_diffusion(), ProfileTable.component)
    assert [row["component"] for row in rows] == ["vae", "text_encoder", "unet"]
    assert sum(int(row["macs"]) for row in rows) == stable_diffusion().total.macs


@pytest.mark.parametrize("make", [stable_diffusion, nothing, hostile])
@pytest.mark.parametrize("by", list(ProfileTable))
def test_every_table_is_rectangular_and_has_a_heading(make: Callable[[], Profile], by: ProfileTable) -> None:
    lines = list(csv.reader(io.StringIO(profile_csv(make(), by, 9))))
    assert len({len(line) for line in lines}) == 1
    assert "macs" in lines[0]


def test_modules_are_not_folded() -> None:
    paths = [row["path"] for row in csv_rows(stable_diffusion(), ProfileTable.module)]
    assert "down_blocks.1" in paths


def test_truth_and_steps_are_readable() -> None:
    attention = csv_rows(stable_diffusion(), ProfileTable.attention)
    assert {row["causal"] for row in attention} == {"true", "false"}
    assert csv_rows(stable_diffusion(), ProfileTable.call)[1]["steps"] == "0-30"


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 2**64 + 1, 10**75, 10**90])
def test_parquet_has_numbers_beyond_64_bits_exactly(number: int) -> None:
    table = DataTable(
        {"macs": int, "maybe": int | None, "shape": tuple[int, ...]},
        [{"macs": number, "maybe": None, "shape": (1, number)}],
    )
    from pyarrow import parquet

    written = parquet.read_table(io.BytesIO(_parquet(table))).to_pylist()
    assert (int(written[0]["macs"]), written[0]["maybe"]) == (number, None)
    assert [int(size) for size in written[0]["shape"]] == [1, number]
