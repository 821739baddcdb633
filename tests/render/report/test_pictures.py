"""Images in a page."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from diffprof.render.report.pictures import embedded_image, embedded_image_data

PNG = b"\x89PNG\r\n\x1a\nrest"


@pytest.mark.parametrize(
    ("data", "kind"),
    [(PNG, "png"), (b"\xff\xd8\xff\xe0", "jpeg"), (b"GIF89a", "gif"), (b"RIFF....WEBP", "webp")],
)
def test_an_image_is_part_of_the_page(data: bytes, kind: str) -> None:
    html = str(embedded_image_data("a.png", data))
    assert f"data:image/{kind};base64,{base64.b64encode(data).decode()}" in html
    assert "<figcaption>a.png</figcaption>" in html


def test_a_name_is_text() -> None:
    assert "<b>" not in str(embedded_image_data("<b>", PNG))


def test_what_no_browser_shows_is_said() -> None:
    assert "has a format that a page cannot show" in str(embedded_image_data("a.svg", b"<svg/>"))


def test_a_file_that_is_too_large_or_missing_is_said(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    assert "cannot be shown: No such file" in str(embedded_image("a.png", file))
    file.write_bytes(PNG)
    assert "too large to embed in a report" in str(embedded_image("a.png", file, most_bytes=len(PNG) - 1))
    assert "data:image/png" in str(embedded_image("a.png", file, most_bytes=len(PNG)))
