"""A profile as blocks."""

from __future__ import annotations

import pytest

from diffprof.errors import RequestError
from diffprof.findings import findings
from diffprof.render.profile_blocks import RUN_TABLES, counted_blocks, measured_blocks
from diffprof.render.table_names import ProfileTable, RunTable
from tests.sample_profiles import everything_measured, measured_profile, stable_diffusion


def test_what_was_counted_is_one_table_with_its_sentences() -> None:
    table, sentences = counted_blocks(stable_diffusion())
    assert [*table.columns[0].cells] == ["vae", "text_encoder", "unet", "total"]
    assert table.has_total
    assert not sentences.columns and any("assum" in line.lower() for line in sentences.lines)


def test_only_the_components_have_a_total() -> None:
    assert not counted_blocks(stable_diffusion(), ProfileTable.attention)[0].has_total


def test_one_table_of_a_run_can_be_chosen() -> None:
    (block,) = measured_blocks(measured_profile(), RunTable.step)
    assert len(block.columns[0].cells) == 4


def test_otherwise_there_are_tables_findings_and_notes() -> None:
    profile = everything_measured()
    blocks = measured_blocks(profile)
    assert [block.title for block in blocks[1:3]] == ["Sections", "Memory"]
    numbered = [block.title for block in blocks if block.title[:1].isdigit()]
    assert [title.split(".")[0] for title in numbered] == [str(n + 1) for n in range(len(findings(profile)))]
    assert blocks[-1].lines


def test_every_table_has_a_maker_and_every_maker_rows_of_one_length() -> None:
    assert set(RUN_TABLES) == set(RunTable)
    for make in RUN_TABLES.values():
        columns = make(everything_measured())
        assert len({len(column.cells) for column in columns}) == 1


def test_what_was_only_counted_has_no_such_blocks() -> None:
    with pytest.raises(RequestError):
        measured_blocks(stable_diffusion())
