"""Plain values as CSV."""

from __future__ import annotations

from diffprof.render.csv import table_csv


def test_cells_are_exact_and_readable_by_programs() -> None:
    rows = [{"name": 'a, "b"', "macs": 2**70, "known": True, "steps": (0, 1, 2, 5), "left": "out"}]
    assert table_csv(["name", "macs", "known", "steps"], rows) == (
        'name,macs,known,steps\n"a, ""b""",1180591620717411303424,true,"0-2, 5"\n'
    )


def test_the_heading_is_there_without_rows_and_the_unknown_is_empty() -> None:
    assert table_csv(["a", "b"], []) == "a,b\n"
    assert table_csv(["a", "b"], [{"a": None, "b": 0}]) == "a,b\n,0\n"
