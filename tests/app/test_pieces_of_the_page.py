"""What the page is made of, without a browser."""

from __future__ import annotations

import html
import re
import socket

import pytest

from diffprof.app.comparing import told_apart
from diffprof.app.serving import bound
from diffprof.app.setup import Setup
from diffprof.app.shelf import MOST, Shelf
from diffprof.app.showing import problem, totals, under_way
from diffprof.app.typed import number, whole
from diffprof.app.working import Progress
from diffprof.errors import RequestError
from diffprof.render.figures.curves import Curve, curves_figure
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
    assert "<i>" not in under_way(Progress("opening <i>"))
    assert "exactly" in totals(stable_diffusion())


def test_progress_shows_the_times_of_the_steps() -> None:
    shown = under_way(Progress("step 2 of 4", 2, 4), [0.5, 0.25])
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
