"""The table of attention splits every site into its products."""

from __future__ import annotations

from diffprof.breakdown.attention import attention_table
from tests.sample_profiles import nothing, stable_diffusion


def test_attention_is_split_into_its_products() -> None:
    rows = attention_table(stable_diffusion())
    assert [(row.component, row.site.relation) for row in rows] == [
        ("unet", "self"),
        ("unet", "cross"),
        ("text_encoder", "self"),
    ]
    cross = rows[1]
    # batch x heads x query tokens x key tokens x head size, in 3 places, in 31 calls
    assert cross.qk_macs == cross.av_macs == 2 * 5 * 4_096 * 77 * 64 * 3 * 31
    assert cross.executions == 93
    assert rows[2].site.causal


def test_a_pipeline_that_called_nothing_has_an_empty_table() -> None:
    assert attention_table(nothing()) == []
