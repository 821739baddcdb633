"""What came of a gate, as people, CI and programs read it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from diffprof.comparison import Pair, compare_pair
from diffprof.comparison.gate import Gate, gate, parse_limits
from diffprof.comparison.views.gate import describe_check, gate_json, gate_junit, gate_markdown, print_gate
from diffprof.render.console import render_text
from tests.comparison.noise import SECOND, quiet, run_of
from tests.sample_profiles import stable_diffusion

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "gate.schema.json").read_text(encoding="utf-8"))
NAMES = ("baseline", "candidate")


def gate_pair(pair: Pair, limits: str | None = None) -> tuple[Gate, Pair]:
    return gate(pair, parse_limits(limits) if limits else None), pair


def passing() -> tuple[Gate, Pair]:
    return gate_pair(compare_pair(stable_diffusion(), stable_diffusion()))


def failing() -> tuple[Gate, Pair]:
    return gate_pair(
        compare_pair(stable_diffusion(), stable_diffusion(unet_calls=32)), "macs=+0%,calls.unet=+0,weights=+10MB"
    )


def noisy() -> tuple[Gate, Pair]:
    source = random.Random(21)
    return gate_pair(compare_pair(run_of(quiet(source, 20)), run_of(quiet(source, 20, 1.05))))


def too_few() -> tuple[Gate, Pair]:
    return gate_pair(compare_pair(run_of([SECOND] * 3), run_of([SECOND] * 3)), "time=+5%")


EVERY = [passing, failing, noisy, too_few]


@pytest.mark.parametrize("made", EVERY)
def test_as_it_is_shown(made: Callable[[], tuple[Gate, Pair]], golden: Callable[[str, str], None]) -> None:
    shown = render_text(lambda console: print_gate(*made(), NAMES, console), 110)
    golden(f"gate_{made.__name__}.txt", shown)
    golden(f"gate_{made.__name__}.md", gate_markdown(*made(), NAMES))


@pytest.mark.parametrize("made", EVERY)
def test_json_is_what_the_schema_says(made: Callable[[], tuple[Gate, Pair]]) -> None:
    values = json.loads(gate_json(*made(), NAMES))
    jsonschema.validate(values, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert values["exit_code"] == made()[0].exit_code


def test_junit_has_a_case_for_each_limit() -> None:
    suite = ElementTree.fromstring(gate_junit(failing()[0], NAMES))
    assert (suite.tag, suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("testsuite", "3", "2", "0")
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases == {"macs": ["failure"], "calls.unet": ["failure"], "weights": []}
    skipped = ElementTree.fromstring(gate_junit(too_few()[0], NAMES))
    (case,) = skipped
    assert [child.tag for child in case] == ["skipped"]
    assert "too few" in (case[0].get("message") or "")


def test_junit_escapes_names_that_are_not_valid_xml() -> None:
    suite = ElementTree.fromstring(gate_junit(failing()[0], ("a", '<b> & \x00 \udcff "c"')))
    assert suite[0].get("classname", "").startswith("diffprof.gate.<b> & ")


def test_a_limit_in_one_sentence() -> None:
    found = [describe_check(check) for check in failing()[0].checks]
    assert found == [
        "macs: 26.23 T, now 27.04 T (+3.1 %), limit +0 %: failed",
        "calls.unet: 31, now 32 (+3.2 %), limit +0: failed",
        "weights: 2.58 GB, now 2.58 GB (=), limit +10.00 MB: passed",
    ]
    assert describe_check(too_few()[0].checks[0]) == (
        "time: 1.00 s, now 1.00 s (=, unsure), limit +5 %: too noisy to tell "
        "(3 and 3 samples are too few; measure with 20 iterations or more)"
    )
