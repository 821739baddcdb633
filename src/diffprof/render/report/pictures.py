"""Images in a page, embedded so that it stays one file."""

from __future__ import annotations

import base64
from pathlib import Path

from diffprof.render.report.markup import Markup, element
from diffprof.render.report.page import paragraph

MAX_BYTES = 1_000_000
"""A larger image would make the report too large to send around."""

_IMAGE_TYPES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


def embedded_image(name: str, file: Path, most_bytes: int | None = None) -> Markup:
    """The image with its name below it, or a sentence that says why it cannot be shown."""
    try:
        if most_bytes is not None and file.stat().st_size > most_bytes:
            return paragraph(f"{name} is not shown: it is too large to embed in a report.", "note")
        data = file.read_bytes()
    except OSError as error:
        return paragraph(f"{name} cannot be shown: {error.strerror}.", "note")
    return embedded_image_data(name, data)


def embedded_image_data(name: str, data: bytes) -> Markup:
    """The image from its bytes, or a sentence that says why it cannot be shown."""
    kind = next((kind for signature, kind in _IMAGE_TYPES.items() if data.startswith(signature)), None)
    if kind is None:
        return paragraph(f"{name} has a format that a page cannot show.", "note")
    source = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return element("figure", element("img", src=source, alt=name), element("figcaption", name))
