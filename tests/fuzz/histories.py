"""Histories, and what else is kept in a database: damaged files, and rows that hold what no row should."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.fuzz.mutation import Mutator, dump
from tests.fuzz.subjects import Command, Subject


class Histories(Subject):
    """Histories: damaged databases, and rows that hold what no row should."""

    name = "history"
    weight = 16

    def prepare(self, corpus: Path) -> None:
        from tests.record.history.kept_runs import four_runs

        four_runs(corpus / "history.sqlite")
        self.columns = database_columns(corpus / "history.sqlite")
        self.data = (corpus / "history.sqlite").read_bytes()

    def make(self, mutator: Mutator, folder: Path) -> list[Command]:
        file = folder / "history.sqlite"
        if mutator.rng.random() < 0.5:
            file.write_bytes(self.data)
            change_rows(mutator, file, self.columns)
        else:
            file.write_bytes(mutator.data(self.data))
        number, out = str(mutator.rng.randrange(1, 5)), str(folder / "out")
        return mutator.rng.choice(
            (
                [["history", "list", *mutator.rng.choice(([], ["--json"]))]],
                [["history", "show", number]],
                [["history", "trend", mutator.rng.choice(("macs", "wall_seconds", "peak_memory_bytes"))]],
                [["history", "export", f"{out}.{mutator.rng.choice(('csv', 'parquet'))}"]],
                [["history", "compare", "1", "2"]],
                [["history", "list", "--text", "sd", "--order", "macs"]],
                [["history", "tag", number, "x"]],
                [["history", "prune", "--keep", "1"], ["history", "list"]],
                [["history", "repair", f"{out}.sqlite"], ["history", "list"]],
            )
        )


def database_columns(file: Path) -> dict[str, list[str]]:
    """The columns of each table, of a file that is made one whole."""
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        found = {
            table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
            if not table.startswith("sqlite_")
        }
    connection.close()
    return found


def change_rows(mutator: Mutator, file: Path, columns: Mapping[str, Sequence[str]]) -> None:
    """Put values into rows that no row should hold."""
    with sqlite3.connect(file) as connection:
        for _ in range(mutator.rng.choice((1, 2, 5))):
            table = mutator.rng.choice(sorted(columns))
            column = mutator.rng.choice(columns[table])
            value = _column_value(mutator)
            sql = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
            if isinstance(value, bytes) and mutator.rng.random() < 0.5:
                sql = f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?"
            try:
                connection.execute(sql, (value, mutator.rng.randrange(1, 5)))
            except sqlite3.Error:
                continue  # the table itself does not take it
    connection.close()


def _column_value(mutator: Mutator) -> Any:
    """A value that SQLite can keep."""
    value = mutator.hostile()
    if isinstance(value, list | dict):
        value = dump(value)[:100].decode("ascii")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value) if abs(value) < 2**1000 else b"\xff\xfe\x00"
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        return data if mutator.rng.random() < 0.3 else data.decode("utf-8", "replace")
    return value
