"""How much visitors may send: in one request, and all of them together before it is removed again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping

LARGEST_UPLOAD = 64 << 20
"""Of one file, also unpacked."""
LARGEST_REQUEST = 4 * LARGEST_UPLOAD
"""Of the files that are sent together: Gradio takes a thousand."""
LARGEST_MESSAGE = 8 << 20
"""Of what is no upload: the values of the page's fields."""
MOST_KEPT = 16 * LARGEST_REQUEST
"""Of all uploads that are still on the disk."""
KEPT_SECONDS = 2 * 3600
"""Gradio looks every hour for uploads that are older than an hour."""

UPLOADS = ("/gradio_api/upload", "/upload")


class UploadLimit:
    """Says which requests bring too much, before they are read."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._kept: deque[tuple[float, int]] = deque()
        """When an upload came, and its bytes."""

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """The status and sentence that refuse a request; None lets it in, and counts it."""
        if method not in ("POST", "PUT", "PATCH"):
            return None
        length = headers.get("content-length", "")
        if not length.isdecimal() or "transfer-encoding" in headers:
            return 411, "A request says how long it is."
        is_upload = path.rstrip("/") in UPLOADS
        most = LARGEST_REQUEST if is_upload else LARGEST_MESSAGE
        if int(length) > most:
            return 413, f"That is too much at once: at most {most >> 20} MiB are taken."
        return self._count(int(length)) if is_upload else None

    def _count(self, length: int) -> tuple[int, str] | None:
        while self._kept and self._kept[0][0] < self._now() - KEPT_SECONDS:
            self._kept.popleft()
        if sum(size for _, size in self._kept) + length > MOST_KEPT:
            return 429, "Too many files were uploaded; try again in an hour, when the earlier ones are removed."
        self._kept.append((self._now(), length))
        return None
