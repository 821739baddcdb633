"""The theme brings everything with it: no font, style or script is loaded from elsewhere."""

from __future__ import annotations

import json
import re

from diffprof.app.theme import create_theme, head_html


def test_no_font_is_downloaded() -> None:
    theme = create_theme()
    assert theme._font_css == []
    assert theme._stylesheets == []
    assert "system-ui" in theme.font


def test_text_that_gradio_shows_too_pale_is_darker_in_both_modes() -> None:
    theme = create_theme()
    assert (theme.body_text_color_subdued, theme.body_text_color_subdued_dark) == ("*neutral_600", "*neutral_300")
    assert (theme.block_info_text_color, theme.block_info_text_color_dark) == ("*neutral_600", "*neutral_300")


def test_the_head_has_the_styles_and_the_chart_templates_for_light_and_dark() -> None:
    head = head_html()
    assert head.startswith("<style>")
    found = re.search(r'<script type="application/json" id="chart-templates">(.*?)</script>', head, re.DOTALL)
    assert found is not None
    templates = json.loads(found[1])
    assert set(templates) == {"light", "dark"}
    assert templates["light"]["layout"]["font"]["color"] != templates["dark"]["layout"]["font"]["color"]


def test_nothing_in_the_head_is_loaded_from_elsewhere() -> None:
    head = head_html()
    assert not re.search(r"<link|\bsrc=|@import|url\(\s*['\"]?(https?:)?//", head)
