"""Everything that is put into a page is text, unless it was made as markup."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from diffprof.render.report.markup import Markup, element, embedded_json, join


def test_a_text_inside_an_element_is_escaped() -> None:
    assert element("p", "a < b & c > 'd'") == "<p>a &lt; b &amp; c &gt; &#x27;d&#x27;</p>"


def test_an_element_inside_an_element_is_not() -> None:
    assert element("p", "a ", element("b", "<i>")) == "<p>a <b>&lt;i&gt;</b></p>"


def test_an_attribute_cannot_be_left() -> None:
    assert element("a", href='x" onclick="evil()') == '<a href="x&quot; onclick=&quot;evil()"></a>'


def test_attributes_have_the_names_of_html_and_missing_ones_are_left_out() -> None:
    made = element("div", class_="note", data_height="3", aria_label="x", hidden=True, title=None, open=False)
    assert made == '<div class="note" data-height="3" aria-label="x" hidden></div>'


def test_control_characters_and_halves_of_letters_are_replaced() -> None:
    assert element("p", "a\x00b\nc\udcff") == "<p>a\N{REPLACEMENT CHARACTER}b c\N{REPLACEMENT CHARACTER}</p>"


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_embedded_json_is_the_same_value_and_ends_no_script(value: object) -> None:
    written = embedded_json(value)
    assert json.loads(written) == value
    assert not set("<>&") & set(written)
    assert written.isascii()


@given(st.lists(st.text()))
def test_no_text_becomes_a_tag(texts: list[str]) -> None:
    assert isinstance(join(*texts), Markup)
    assert not set("<>") & set(join(*texts))
