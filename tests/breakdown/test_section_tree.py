"""The sections of a run as a tree."""

from __future__ import annotations

from diffprof.breakdown.section_tree import SectionNode, section_tree
from tests.sample_iterations import GPU, iteration_on


def test_sections_inside_others_are_below_them_over_all_iterations() -> None:
    nodes = section_tree([iteration_on(GPU), iteration_on(GPU, times=2)])
    assert nodes == [
        SectionNode(("encode_prompt",), None, 2, 3 * 1_300_000),
        SectionNode(("encode_prompt", "text_encoder_forward"), "text_encoder", 4, 3 * 1_000_000),
        SectionNode(("unet_forward",), "unet", 8, 3 * 40_000_000),
        SectionNode(("scheduler_step",), None, 8, 3 * 200_000),
        SectionNode(("vae_decode",), "vae", 2, 3 * 16_000_000),
        SectionNode(("postprocess",), None, 2, 3 * 1_000_000),
    ]


def test_without_iterations_there_is_no_tree() -> None:
    assert section_tree([]) == []
