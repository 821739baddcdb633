"""What the page is made of, without a browser."""

from __future__ import annotations

import gzip
import html
import re
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from diffprof.app.comparing import LARGEST_UPLOAD, told_apart, uploaded
from diffprof.app.pieces import safely
from diffprof.app.serving import bound, is_from_elsewhere
from diffprof.app.setup import Setup
from diffprof.app.shelf import MOST, Shelf
from diffprof.app.showing import problem, totals, under_way
from diffprof.app.typed import number, whole
from diffprof.comparison.curves import Curve
from diffprof.comparison.views.curves import curves_figure
from diffprof.errors import FileFormatError, RequestError
from diffprof.record.progress import Activity, ProgressEvent
from tests.profiles_made_by_hand import stable_diffusion


@pytest.mark.parametrize(("typed", "means"), [("", None), (None, None), (" 7 ", 7), ("9223372036854775807", 2**63 - 1)])
def test_a_whole_number_is_taken_exactly(typed: str | None, means: int | None) -> None:
    assert whole("Seed", typed) == means


@pytest.mark.parametrize("typed", ["1.5", "seven", "1e3", "٣"])
def test_what_is_no_whole_number_is_refused(typed: str) -> None:
    if typed == "٣":
        assert whole("Seed", typed) == 3, "digits of other scripts are digits"
        return
    with pytest.raises(RequestError, match="Seed must be a whole number"):
        whole("Seed", typed)


def test_numbers_are_finite() -> None:
    assert number("Guidance", "7.5") == 7.5
    for typed in ("inf", "nan", "much"):
        with pytest.raises(RequestError, match="Guidance must be a number"):
            number("Guidance", typed)


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.0.0.5", True), ("0.0.0.0", False), ("box", False)],
)
def test_only_this_machine_is_local(host: str, local: bool) -> None:
    assert Setup(host=host).is_local is local


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RequestError, match=rf"Cannot listen on 127.0.0.1, port {port}: .*--port"):
            bound(Setup(port=port))


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a" * 70, "256.1.1.1"])
def test_a_place_where_nobody_can_listen_is_told(host: str) -> None:
    with pytest.raises(RequestError, match=r"Cannot listen on .*--host"):
        bound(Setup(host=host, port=0))


@pytest.mark.parametrize(
    ("headers", "elsewhere"),
    [
        ({"host": "127.0.0.1:7860"}, False),
        ({"host": "127.0.0.1:7860", "origin": "http://127.0.0.1:7860"}, False),
        ({"host": "127.0.0.1:7860", "origin": "http://127.0.0.1:9999"}, True),
        ({"host": "127.0.0.1:7860", "origin": "https://evil.example"}, True),
        ({"host": "127.0.0.1:7860", "origin": "null"}, True),
    ],
)
def test_a_request_of_another_site_is_known(headers: dict[str, str], elsewhere: bool) -> None:
    assert is_from_elsewhere(headers) is elsewhere


def test_what_goes_wrong_in_an_answer_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> dict[str, str]:
        raise RequestError("choose a model")

    def fails_later() -> Iterator[dict[str, str]]:
        yield {"message": "half"}
        raise ZeroDivisionError

    assert "Choose a model." in safely("message", fails)()["message"]
    half, last = safely("message", fails_later)()
    assert half == {"message": "half"}
    assert "This is a bug in diffprof (ZeroDivisionError)" in last["message"]
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_an_upload_is_small_when_it_is_unpacked_too(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b" " * (LARGEST_UPLOAD + 1), compresslevel=1))
    with pytest.raises(FileFormatError, match=r"^Cannot read bomb.json.gz: .*larger than 67,108,864 bytes"):
        uploaded(bomb)


def test_the_name_of_a_download_is_fit_for_a_header() -> None:
    profile = stable_diffusion()
    shelf, named = Shelf(), replace(profile, request=replace(profile.request, model='models/мой "mödel"\r\n'))
    token = re.search(r"files/([\w-]+)/json", shelf.links([named], ["one"]))
    assert token is not None
    file = shelf.file(token[1], "json")
    assert file is not None
    assert file.name == "-m-del-.json"


def test_links_lead_to_files_until_they_are_too_old() -> None:
    shelf, profile = Shelf(), stable_diffusion()
    first = re.search(r"files/([\w-]+)/json", shelf.links([profile], ["one"]))
    assert first is not None
    file = shelf.file(first[1], "json")
    assert file is not None
    assert file.content.startswith('{"format":')
    assert shelf.file(first[1], "exe") is None
    for _ in range(MOST):
        shelf.links([profile], ["one"])
    assert shelf.file(first[1], "json") is None


def test_only_a_measured_run_has_times_to_download() -> None:
    assert "times.csv" not in Shelf().links([stable_diffusion()], ["one"])


def test_everything_from_outside_is_text() -> None:
    assert "<b>" not in problem("Unknown model '<b>'")
    assert html.escape("<b>") in problem("Unknown model '<b>'")
    assert "<i>" not in under_way(ProgressEvent(Activity.opening, "<i>"))
    assert "exactly" in totals(stable_diffusion())


def test_progress_shows_the_times_of_the_steps() -> None:
    shown = under_way(ProgressEvent(Activity.denoising, "sd", 2, 4), [0.5, 0.25])
    assert 'max="4"' in shown
    assert 'value="2"' in shown
    assert "last step 0.250s, all 0.750s" in shown


def test_names_that_come_twice_are_told_apart() -> None:
    assert told_apart(["a", "b", "a"]) == ["a (1)", "b", "a (2)"]


def test_a_curve_goes_through_what_was_counted() -> None:
    figure = curves_figure([Curve("one", [1, 2], [10, 20]), Curve("none", [], [])], "denoising steps")
    assert figure is not None
    (line,) = figure.data
    assert (list(line.x), list(line.y)) == ([1, 2], [10, 20])
    assert curves_figure([Curve("none", [], [])], "denoising steps") is None
