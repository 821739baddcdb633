"""Memory snapshots as the guides' table."""

from __future__ import annotations

from typing import Any

from diffprof.render.guides.memory_summary import finding_sentence, memory_summary

MIB = 2**20


def finding(kind: str, memory: str = "device", **evidence: int) -> dict[str, Any]:
    return {"kind": kind, "label": "end", "before": "start", "memory": memory, "evidence": evidence}


def test_columns_without_any_value_are_left_out() -> None:
    text = memory_summary({"snapshots": [{"label": "start", "rss_bytes": 3 * MIB}], "findings": []})
    assert "RSS" in text
    assert "Allocated" not in text
    assert "3.0M" in text


def test_an_unknown_value_is_not_0() -> None:
    snapshots = [{"label": "a", "rss_bytes": MIB, "allocated_bytes": MIB}, {"label": "b", "rss_bytes": MIB}]
    (row,) = [line for line in memory_summary({"snapshots": snapshots, "findings": []}).splitlines() if line[0] == "b"]
    assert row.split() == ["b", "-", "1.0M"]


def test_without_snapshots_the_table_says_so() -> None:
    assert "no snapshot was taken" in memory_summary({"snapshots": [], "findings": []})


def test_every_finding_has_a_sentence_with_its_numbers() -> None:
    sizes = {"reserved_bytes": 2 * MIB, "allocated_bytes": MIB, "most_allocated_bytes": MIB}
    assert "expandable_segments" in finding_sentence(finding("fragmentation", **sizes))
    assert "2.0M reserved for 1.0M allocated" in finding_sentence(finding("held_in_reserve", **sizes))
    assert finding_sentence(finding("unreleased_memory", "process", growth_bytes=MIB)) == (
        "Not freed: end holds 1.0M more in the process than start; check that this is intended."
    )
    assert finding_sentence(finding("grows", before_bytes=MIB, after_bytes=3 * MIB)) == (
        "end holds more on the device each time: from 1.0M to 3.0M."
    )
