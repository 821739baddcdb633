"""A self-contained page: style, scripts, plotly and charts are all embedded."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffprof.render.charts import template
from diffprof.render.report.markup import Markup, element, embedded_json, escape, join

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

HERE = Path(__file__).parent


class Page:
    """A page under construction: its sections, and the charts in them."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._sections: list[Markup] = []
        self._links: list[Markup] = []
        self._charts: dict[str, Any] = {}

    def add(self, heading: str, *content: str, link: str | None = None) -> None:
        """Add a section; nothing if it has no content."""
        if not any(content):
            return
        name = f"section-{len(self._sections)}"
        self._sections.append(element("section", element("h2", heading), *content, id=name))
        self._links.append(element("a", link or heading, href=f"#{name}"))

    def chart(self, chart: Figure | None, label: str) -> Markup:
        """A placeholder for the chart; `label` describes it to screen readers."""
        if chart is None:
            return Markup()
        values = chart.to_plotly_json()
        # Both templates are embedded once, not with each chart.
        values["layout"].pop("template", None)
        name = f"chart-{len(self._charts)}"
        self._charts[name] = values
        height = f"height:{values['layout']['height']}px"
        return element("div", class_="chart", id=name, role="img", aria_label=label, style=height)

    def tabs(self, label: str, panels: Mapping[str, Markup]) -> Markup:
        """Panels with tabs to switch between them; no tabs for a single panel."""
        filled = {name: content for name, content in panels.items() if content}
        if len(filled) < 2:
            return join(*filled.values())
        group = f"tabs-{len(self._sections)}-{len(self._charts)}"
        buttons = [
            element(
                "button", name, type="button", role="tab", id=f"{group}-{number}-tab",
                aria_controls=f"{group}-{number}", aria_selected="false" if number else "true",
                tabindex="-1" if number else "0",
            )
            for number, name in enumerate(filled)
        ]  # fmt: skip
        contents = [
            element(
                "div", content, id=f"{group}-{number}", role="tabpanel", aria_labelledby=f"{group}-{number}-tab",
                hidden=number > 0,
            )
            for number, content in enumerate(filled.values())
        ]  # fmt: skip
        return join(element("div", *buttons, class_="tabs", role="tablist", aria_label=label), *contents)

    def html(self, header: Sequence[str], footer: str) -> str:
        """The whole page."""
        body = element(
            "body",
            element("header", *header, _theme_button(), element("nav", *self._links, aria_label="Sections")),
            element("main", *self._sections),
            element("footer", footer),
            element("noscript", element("p", "Charts need JavaScript; the tables do not.")),
            _data({"charts": self._charts, "templates": _templates()}),
            *(element("script", script) for script in _scripts()),
        )
        return f"<!DOCTYPE html>\n{element('html', self._head(), body, lang='en')}\n"

    def _head(self) -> Markup:
        return element(
            "head",
            Markup('<meta charset="utf-8">'),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Markup('<meta name="color-scheme" content="light dark">'),
            Markup('<link rel="icon" href="data:,">'),
            element("title", self.title),
            element("style", Markup((HERE / "style.css").read_text(encoding="utf-8"))),
        )


def _theme_button() -> Markup:
    return element("button", "Dark", type="button", id="theme", aria_label="Switch between light and dark")


def _data(values: Any) -> Markup:
    return element("script", embedded_json(values), type="application/json", id="data")


def _templates() -> dict[str, Any]:
    return {name: template(dark).to_plotly_json() for name, dark in (("light", False), ("dark", True))}


def _scripts() -> list[Markup]:
    return [Markup(plotly_script()), Markup(narrow_script()), Markup((HERE / "script.js").read_text(encoding="utf-8"))]


def narrow_script() -> str:
    """The script that adapts charts to narrow screens."""
    return (HERE / "narrow.js").read_text(encoding="utf-8")


def plotly_script() -> str:
    """The part of plotly.js that our charts need; docs/decisions says how it was built."""
    return (HERE / "plotly.min.js").read_text(encoding="utf-8")


def _policy() -> str:
    """The content security policy: nothing is loaded, and only the embedded scripts run."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in _scripts()]
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def labelled_list(lines: Sequence[tuple[str, str]]) -> Markup:
    """Lines with labels; a line without one continues the line above."""
    parts: list[Markup] = []
    before = None
    for label, line in lines:
        if label and label != before:
            parts.append(element("dt", label))
        before = label or before
        parts.append(element("dd", line))
    return element("dl", *parts) if parts else Markup()


def details(title: str, *content: str) -> Markup:
    """Content that unfolds when clicked."""
    inside = join(*content)
    return element("details", element("summary", title), inside) if inside else Markup()


def code_block(label: str, lines: Sequence[str]) -> Markup:
    """Lines of code under their label; a click selects them, and a page with scripts has a button to copy them."""
    if not lines:
        return Markup()
    # Escaping joins lines, so each line is its own element; no-break spaces keep its indentation.
    code = [element("code", _with_indentation(line) or "\N{NO-BREAK SPACE}") for line in lines]
    return element("div", element("small", label), element("pre", *code), class_="code")


def _with_indentation(line: str) -> str:
    rest = line.lstrip(" ")
    return "\N{NO-BREAK SPACE}" * (len(line) - len(rest)) + rest


def paragraph(words: str, kind: str | None = None) -> Markup:
    return element("p", escape(words), class_=kind) if words else Markup()
