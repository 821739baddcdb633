"""A measured run as spans."""

from __future__ import annotations

from typing import Any

import pytest

from diffprof.errors import RequestError
from diffprof.render.exports.spans import record_spans
from tests.sample_iterations import GPU, iteration_on
from tests.sample_profiles import measured_profile, stable_diffusion

pytest.importorskip("opentelemetry.trace")


class Span:
    """What a tracer would send."""

    def __init__(self, name: str, start: int) -> None:
        self.name, self.start, self.ended = name, start, 0

    def end(self, at: int) -> None:
        self.ended = at


class Tracer:
    """Keeps its spans."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def start_span(self, name: str, *, start_time: int, context: Any = None, attributes: Any = None) -> Span:
        self.spans.append(Span(name, start_time))
        return self.spans[-1]


def test_every_section_is_a_span_inside_its_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opentelemetry.trace.set_span_in_context", lambda span: span)
    iteration, tracer = iteration_on(GPU), Tracer()
    profile = measured_profile(device=GPU, iterations=[iteration])
    assert record_spans(profile, tracer, end_ns=10**18) == 1 + len(iteration.samples)
    whole, *sections = tracer.spans
    assert whole.name == "diffusion __call__"
    assert whole.ended == 10**18
    assert {section.name for section in sections} == {sample.section for sample in iteration.samples}
    assert all(whole.start <= section.start <= section.ended <= whole.ended for section in sections)


def test_a_profile_that_was_only_counted_has_no_spans() -> None:
    with pytest.raises(RequestError, match="was counted, not measured"):
        record_spans(stable_diffusion(), Tracer())
