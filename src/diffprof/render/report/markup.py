"""HTML that is safe by construction: all text is escaped, except markup that was built here."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import Any

from diffprof.render.clean import clean


class Markup(str):
    """HTML that needs no escaping. Text from outside must go through `escape`."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str | bool | None) -> Markup:
    """``<tag attributes>children</tag>``; an attribute that is None or False is left out.

    ``class_`` is ``class``, ``data_x`` is ``data-x``.
    """
    attribute_text = "".join(_attribute(name, value) for name, value in attributes.items())
    inside = "".join(map(escape, children))
    return Markup(f"<{tag}{attribute_text}>{inside}</{tag}>")


def escape(words: str) -> Markup:
    """Escape a text, and put it on one line without control characters."""
    return words if isinstance(words, Markup) else Markup(html.escape(clean(words)))


def join(*children: str) -> Markup:
    """Concatenate elements and texts."""
    return Markup("".join(map(escape, children)))


def code_lines(lines: Sequence[str]) -> Markup:
    """Code in a box that scrolls, so that a long line does not widen the page."""
    # Escaping joins lines, so each line is its own element.
    inside = [element("div", line or "\N{NO-BREAK SPACE}") for line in lines]
    return element("pre", *inside, style="overflow-x:auto")


def embedded_json(value: Any) -> Markup:
    """JSON for a script element: ASCII, without characters that could close it or open another."""
    document = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(document.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026"))


def _attribute(name: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(clean(str(value)))}"'
