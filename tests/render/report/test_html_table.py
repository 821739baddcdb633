"""Columns as HTML tables."""

from __future__ import annotations

import re

from diffprof.render.columns import Column
from diffprof.render.report.html_table import html_table, profile_html_table
from diffprof.render.table_names import ProfileTable
from tests.sample_profiles import stable_diffusion


def test_a_table_has_its_headings_cells_and_sides() -> None:
    made = html_table([Column("name", ["a", "<b>"], justify="left"), Column("total\nMACs", ["1", "2"])])
    assert '<th scope="col">name</th><th scope="col" class="right">total MACs</th>' in made
    assert '<td>&lt;b&gt;</td><td class="right">2</td>' in made


def test_lines_below_a_cell_stand_below_it() -> None:
    made = html_table([Column("call", ["unet.forward\nsample 2x4"], justify="left")])
    assert '<td>unet.forward<span class="below">sample 2x4</span></td>' in made


def test_a_share_is_drawn_as_a_bar_of_its_length() -> None:
    shares = [0.951, 0.9999, 0.0001, 0.0, 1.2]
    html = html_table([Column("  share", ["95.1 %  ███████▌", "", "", "", ""], shares=shares)])
    expected = [("95.1 %", "95.1%"), ("&gt;99.9 %", "100%"), ("&lt;0.1 %", "0.01%"), ("0 %", "0%"), ("100 %", "100%")]
    for text, width in expected:
        bar = f'<span class="bar" aria-hidden="true"><span style="width:{width}"></span></span>'
        assert f'<span class="value">{text}</span>{bar}' in html
    assert "█" not in html


def test_the_bar_of_a_component_has_its_colour() -> None:
    columns = [Column("component", ["unet\nUNet2D", "total"]), Column("share", ["", ""], shares=[0.5, 1.0])]
    made = html_table(columns, colours={"unet": "#4269d0"})
    assert made.count("background:#4269d0") == 1
    assert 'style="width:50%;background:#4269d0"' in made


def test_what_a_component_costs_stands_beside_its_name() -> None:
    made = profile_html_table(stable_diffusion(), ProfileTable.component, total=True)
    headings = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', made)
    assert headings[:3] == ["component", "total MACs", "share"]
    assert "class" not in headings and '<span class="below">UNet2DConditionModel</span>' in made


def test_the_last_row_is_set_apart_as_the_total() -> None:
    assert html_table([Column("name", ["a", "total"])], total=True).count('<tr class="total">') == 1


def test_a_table_without_rows_is_not_there() -> None:
    assert html_table([Column("name", [])]) == ""
    assert html_table([]) == ""
