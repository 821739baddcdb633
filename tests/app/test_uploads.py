"""What visitors send is bounded: each request, and all uploads together."""

from __future__ import annotations

import pytest

from diffprof.app.uploads import KEPT_SECONDS, LARGEST_MESSAGE, LARGEST_REQUEST, MAX_KEPT, UploadLimit

UPLOAD = "/gradio_api/upload"
JOIN = "/gradio_api/queue/join"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {}, None),
        ("POST", UPLOAD, {"content-length": str(LARGEST_REQUEST)}, None),
        ("POST", UPLOAD, {"content-length": str(LARGEST_REQUEST + 1)}, 413),
        ("POST", f"{UPLOAD}/", {"content-length": str(LARGEST_REQUEST)}, None),
        ("POST", JOIN, {"content-length": str(LARGEST_MESSAGE)}, None),
        ("POST", JOIN, {"content-length": str(LARGEST_MESSAGE + 1)}, 413),
        ("POST", UPLOAD, {}, 411),
        ("POST", UPLOAD, {"content-length": "-1"}, 411),
        ("POST", UPLOAD, {"content-length": "5", "transfer-encoding": "chunked"}, 411),
    ],
)
def test_a_request_that_is_too_large_or_does_not_say_how_large_is_refused(
    method: str, path: str, headers: dict[str, str], status: int | None
) -> None:
    refused = UploadLimit().refusal(method, path, headers)
    assert (refused and refused[0]) == status


def test_all_uploads_together_are_bounded_until_the_earlier_ones_are_removed() -> None:
    clock = [0.0]
    limit = UploadLimit(now=lambda: clock[0])
    whole = {"content-length": str(LARGEST_REQUEST)}
    answers = [limit.refusal("POST", UPLOAD, whole) for _ in range(MAX_KEPT // LARGEST_REQUEST + 1)]
    assert [bool(answer) for answer in answers] == [False] * (MAX_KEPT // LARGEST_REQUEST) + [True]
    assert answers[-1] is not None
    assert answers[-1][0] == 429
    assert limit.refusal("POST", JOIN, {"content-length": "100"}) is None
    clock[0] = KEPT_SECONDS + 1.0
    assert limit.refusal("POST", UPLOAD, whole) is None
