"""HTML that is safe by construction: every text is escaped, only what was made here is taken as it is."""

from __future__ import annotations

import html
import json
from typing import Any

from diffprof.render.clean import clean


class Markup(str):
    """HTML that may be taken as it is. Nothing that comes from outside is ever made one."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str | bool | None) -> Markup:
    """``<tag attributes>children</tag>``; an attribute that is None or False is left out.

    ``class_`` is ``class``, ``data_x`` is ``data-x``.
    """
    written = "".join(_attribute(name, value) for name, value in attributes.items())
    inside = "".join(map(escape, children))
    return Markup(f"<{tag}{written}>{inside}</{tag}>")


def escape(words: str) -> Markup:
    """The words as they read: escaped, on one line, without control characters."""
    return words if isinstance(words, Markup) else Markup(html.escape(clean(words)))


def join(*children: str) -> Markup:
    """Several elements one after the other."""
    return Markup("".join(map(escape, children)))


def embedded_json(value: Any) -> Markup:
    """JSON for a script element: ASCII, and without a sign that could end the element or begin another."""
    written = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(written.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026"))


def _attribute(name: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(clean(str(value)))}"'
