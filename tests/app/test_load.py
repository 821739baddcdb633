"""Many visitors and many requests: everybody is answered, and nothing stays behind."""

from __future__ import annotations

import gc
import http.client
import json
import os
import threading
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

VISITORS = 20
REQUESTS = 200
PATIENCE_SECONDS = 600
JSON = {"Content-Type": "application/json"}


class Visitor:
    """Talks to the page as a browser does, without one."""

    def __init__(self, address: str, name: str) -> None:
        self.place, self.name = urllib.parse.urlsplit(address), name

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.place.hostname or "", self.place.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def settings(self) -> dict[str, Any]:
        return json.loads(self.send("GET", "/config")[1])  # type: ignore[no-any-return]

    def ask(self, event: dict[str, Any], data: list[Any]) -> dict[str, Any]:
        """Join the queue with an event of the page, and wait for its end; with all that was sent meanwhile."""
        body = json.dumps({"data": data, "fn_index": event["id"], "session_hash": self.name}).encode()
        assert self.send("POST", "/gradio_api/queue/join", body, **JSON)[0] == 200
        _, stream = self.send("GET", f"/gradio_api/queue/data?session_hash={self.name}")
        told = [json.loads(line[5:]) for line in stream.splitlines() if line.startswith(b"data:")]
        (ended,) = [one for one in told if one["msg"] == "process_completed"]
        return {**ended, "shown": stream.decode()}


def profile_event(settings: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """What choosing a model on the first tab sends: the event, and the values of its fields."""
    values = {one["id"]: one["props"] for one in settings["components"]}
    (model,) = [number for number, props in values.items() if props.get("elem_id") == "profile-model"]
    event = next(one for one in settings["dependencies"] if model in one["inputs"] and one["queue"])
    return event, [
        "tiny-sd" if number == model else values[number].get("value") if number in values else None
        for number in event["inputs"]
    ]


def test_twenty_visitors_at_once_are_all_answered_and_apart(address: str) -> None:
    event, data = profile_event(Visitor(address, "first").settings())
    with ThreadPoolExecutor(VISITORS) as pool:
        answers = list(pool.map(lambda number: Visitor(address, f"visitor-{number}").ask(event, data), range(VISITORS)))
    assert [answer["success"] for answer in answers] == [True] * VISITORS
    assert all("tiny-sd" in answer["shown"] for answer in answers)


def test_two_hundred_requests_leave_no_thread_no_handle_and_little_memory(address: str) -> None:
    visitor = Visitor(address, "often")
    event, data = profile_event(visitor.settings())
    process = psutil.Process()

    def ask(times: int) -> tuple[int, int, int]:
        for number in range(times):
            assert visitor.send("GET", "/")[0] == 200
            assert visitor.send("GET", f"/files/guessed-{number}/json")[0] == 404
        assert visitor.ask(event, data)["success"]
        gc.collect()
        return threading.active_count(), process.num_fds(), process.memory_info().rss

    ask(20)  # what is made once is made now
    threads, handles, memory = ask(1)
    after = ask(REQUESTS // 2)
    assert after[0] <= threads + 2
    assert after[1] <= handles + 4
    assert after[2] - memory < 60_000_000


TRAVERSALS = [
    f"{route}{path}"
    for route in ("/gradio_api/file=", "/file=", "/gradio_api/file/", "/files/", "/static/", "/assets/", "/svelte/")
    for path in ("/etc/passwd", "../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd",
                 "....//....//etc/passwd", "/proc/self/environ", "C:\\windows\\win.ini", "%00/etc/passwd",
                 "file:///etc/passwd", "\\..\\..\\etc\\passwd", "http://127.0.0.1:9/x")
]  # fmt: skip


def test_no_file_of_the_machine_is_served_however_it_is_spelled(address: str, tmp_path: Path) -> None:
    visitor = Visitor(address, "thief")
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    own = [
        f"/gradio_api/file={secret}",
        f"/gradio_api/file={os.path.relpath(secret)}",
        "/gradio_api/file=pyproject.toml",
    ]
    for path in (*TRAVERSALS, *own):
        status, content = visitor.send("GET", urllib.parse.quote(path, safe="/%=:\\"))
        assert status >= 400 or b"<!doctype html" in content[:200].lower(), path
        assert b"root:" not in content, path
        assert b"the secret" not in content, path
        assert b"PATH=" not in content, path


UNUSED = (
    ("GET", "/gradio_api/proxy=http://127.0.0.1:9/"),
    ("GET", "/gradio_api/stream/x/y/z/playlist.m3u8"),
    ("GET", "/gradio_api/custom_component/x/client/example/..%2f..%2f__init__.py"),
    ("GET", "/gradio_api/deep_link?session_hash=thief"),
    ("GET", "/gradio_api/vibe-code"),
    ("GET", "/monitoring"),
    ("POST", "/gradio_api/vibe-edit"),
    ("POST", "/gradio_api/process_recording"),
    ("POST", "/gradio_api/component_server"),
)


def test_what_the_page_does_not_use_of_gradio_is_closed(address: str) -> None:
    answers = [
        Visitor(address, "thief").send(method, path, b"" if method == "POST" else None) for method, path in UNUSED
    ]
    assert answers == [(404, b"There is nothing here.")] * len(UNUSED)


@pytest.mark.parametrize("name", ["../../../evil.json", "..\\..\\evil.json", "/tmp/evil.json", "%2e%2e%2fevil.json"])
def test_an_upload_stays_in_the_folder_of_uploads_whatever_it_is_called(name: str, address: str) -> None:
    head = f'--x\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
    status, told = Visitor(address, "thief").send(
        "POST", "/gradio_api/upload", f"{head}{{}}\r\n--x--\r\n".encode(),
        **{"Content-Type": "multipart/form-data; boundary=x"},
    )  # fmt: skip
    assert status == 200
    (place,) = json.loads(told)
    assert Path(place).resolve().is_relative_to(Path(os.environ["GRADIO_TEMP_DIR"]).resolve())


def test_a_request_without_an_end_or_far_too_long_is_refused_before_it_is_read(address: str) -> None:
    visitor = Visitor(address, "flood")
    endless, long = {"Transfer-Encoding": "chunked"}, {"Content-Length": str(1 << 40)}
    assert visitor.send("POST", "/gradio_api/upload", b"0\r\n\r\n", **endless)[0] == 411
    assert visitor.send("POST", "/gradio_api/upload", b"", **long)[0] == 413
    assert visitor.send("POST", "/gradio_api/queue/join", b"", **long)[0] == 413
