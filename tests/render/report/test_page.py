"""A self-contained page: sections, charts and tabs."""

from __future__ import annotations

import json
import re

from diffprof.render.charts import components_chart
from diffprof.render.report.markup import Markup, element
from diffprof.render.report.page import Page, details, labelled_list, paragraph
from tests.sample_profiles import stable_diffusion


def test_a_section_has_a_link_and_an_empty_one_is_left_out() -> None:
    page = Page("Title")
    page.add("First", paragraph("text"), link="1st")
    page.add("Not there", Markup(), paragraph(""))
    html = page.html([element("h1", "Title")], "footer")
    assert '<a href="#section-0">1st</a>' in html
    assert "<h2>First</h2>" in html
    assert "<h2>Not there</h2>" not in html


def test_a_chart_is_embedded_once_without_its_template() -> None:
    page = Page("Title")
    placeholder = page.chart(components_chart(stable_diffusion()), "Components")
    page.add("Charts", placeholder)
    html = page.html([], "footer")
    found = re.search(r'id="data">(.*?)</script>', html)
    assert found is not None
    data = json.loads(found.group(1))
    assert list(data["charts"]) == ["chart-0"]
    assert "template" not in data["charts"]["chart-0"]["layout"]
    assert set(data["templates"]) == {"light", "dark"}
    assert 'role="img" aria-label="Components"' in placeholder


def test_no_chart_is_nothing() -> None:
    assert Page("Title").chart(None, "Components") == ""


def test_a_single_panel_gets_no_tabs() -> None:
    page = Page("Title")
    assert page.tabs("Size", {"a": element("p", "x"), "b": Markup()}) == "<p>x</p>"
    two = page.tabs("Size", {"a": element("p", "x"), "b": element("p", "y")})
    assert two.count('role="tab"') == 2
    assert two.count("hidden") == 1


def test_a_label_is_written_once_for_its_lines() -> None:
    assert labelled_list([("A", "1"), ("A", "2"), ("", "3"), ("B", "4")]) == (
        "<dl><dt>A</dt><dd>1</dd><dd>2</dd><dd>3</dd><dt>B</dt><dd>4</dd></dl>"
    )
    assert labelled_list([]) == ""


def test_details_without_content_are_nothing() -> None:
    assert details("More", Markup()) == ""
    assert details("More", element("p", "x")) == "<details><summary>More</summary><p>x</p></details>"
