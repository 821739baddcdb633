"""Text from outside is made safe to print."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from diffprof.render.clean import clean


def test_control_characters_are_replaced_and_lines_joined() -> None:
    assert clean("a\nb\tc") == "a b c"
    assert clean("\x1b[31mred\x07") == "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}"


@settings(deadline=None)
@given(st.text())
def test_the_result_is_printable_and_as_long_as_the_text(text: str) -> None:
    assert clean(text).isprintable()
    assert len(clean(text)) == len(text)
    assert clean(clean(text)) == clean(text)
