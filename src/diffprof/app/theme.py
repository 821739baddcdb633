"""The theme of the page: system fonts, light and dark, for large and small screens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from diffprof.render.charts import template
from diffprof.render.charts.style import FONT
from diffprof.render.report.markup import Markup, element, embedded_json
from diffprof.render.report.page import narrow_script

HERE = Path(__file__).parent


def create_theme() -> Any:
    """Gradio's base theme in our colours, with system fonts, so that none is downloaded."""
    import gradio

    fonts = [part.strip().strip("'") for part in FONT.split(",")]
    base = gradio.themes.Base(
        primary_hue="indigo",
        neutral_hue="slate",
        font=fonts,
        font_mono=["ui-monospace", "Menlo", "Consolas", "monospace"],
        radius_size="md",
    )
    return base.set(
        block_label_text_size="*text_sm",
        button_primary_background_fill="*primary_600",
        button_primary_text_color="white",
        # Gradio's own colours have too little contrast.
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_300",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_300",
        input_placeholder_color="*neutral_500",
        input_placeholder_color_dark="*neutral_400",
        block_title_text_color="*neutral_700",
        block_title_text_color_dark="*neutral_200",
    )


def head_html() -> str:
    """Styles and scripts for the page's head. Gradio's option for styles would nest each rule in a selector."""
    templates = {name: template(dark).to_plotly_json() for name, dark in (("light", False), ("dark", True))}
    return "".join(
        (
            element("style", _read("style.css")),
            element("script", embedded_json(templates), type="application/json", id="chart-templates"),
            element("script", Markup(narrow_script())),
            element("script", _read("charts.js")),
            element("script", _read("page.js")),
        )
    )


def _read(name: str) -> Markup:
    return Markup((HERE / name).read_text(encoding="utf-8"))
