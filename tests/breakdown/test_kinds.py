"""The table of kinds adds up to the profile, and attention to its relations."""

from __future__ import annotations

from diffprof.breakdown.kinds import kind_table
from tests.sample_profiles import nothing, stable_diffusion


def test_kinds_add_up_to_the_total_and_attention_to_its_relations() -> None:
    profile = stable_diffusion()
    rows = kind_table(profile)
    whole = [row for row in rows if row.part_of is None]
    assert sum(row.macs for row in whole) == profile.total.macs
    assert sum(row.other_flops for row in whole) == profile.total.other_flops
    attention = next(row for row in whole if row.kind == "attention")
    relations = [row for row in rows if row.part_of == "attention"]
    assert [row.kind for row in relations] == ["self", "cross"]
    assert sum(row.macs for row in relations) == attention.macs
    assert sum(row.executions for row in relations) == attention.executions


def test_kinds_come_with_most_macs_first() -> None:
    assert [row.kind for row in kind_table(stable_diffusion()) if not row.part_of] == [
        "convolution",
        "linear",
        "attention",
        "norm",
    ]


def test_a_pipeline_that_called_nothing_has_an_empty_table() -> None:
    assert kind_table(nothing()) == []
