"""Limits on uploads: of one request, and of all visitors together."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping

LARGEST_UPLOAD = 64 << 20
"""Maximum bytes of one file, also after decompression."""
LARGEST_REQUEST = 4 * LARGEST_UPLOAD
"""Maximum bytes of one upload request, which can have many files."""
LARGEST_MESSAGE = 8 << 20
"""Maximum bytes of any other request, such as the values of the page's fields."""
MAX_KEPT = 16 * LARGEST_REQUEST
"""Maximum bytes of all uploads on disk."""
KEPT_SECONDS = 2 * 3600
"""After this time an upload is gone: every hour, Gradio removes those that are older than an hour."""

UPLOADS = ("/gradio_api/upload", "/upload")


class UploadLimit:
    """Decides whether a request is too large, before its body is read."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._kept: deque[tuple[float, int]] = deque()
        """The time and the bytes of each upload."""

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """The status code and message to refuse a request with; None accepts the request, and counts it."""
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
        if sum(size for _, size in self._kept) + length > MAX_KEPT:
            return 429, "Too many files were uploaded; try again in an hour, when the earlier ones are removed."
        self._kept.append((self._now(), length))
        return None
