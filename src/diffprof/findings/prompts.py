"""A rule about prompts that are encoded more than once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diffprof.breakdown.clocks import clock_of
from diffprof.breakdown.shares import share
from diffprof.breakdown.steps import NANOSECONDS
from diffprof.findings.finding import Finding, Rule, Threshold
from diffprof.record.measured import Iteration, Measured, Sample
from diffprof.record.profile import Profile

WORTH_SAVING = Threshold("saved_share", 0.01, "less is not worth a change of the program")


@dataclass(frozen=True)
class _RepeatedEncoding:
    sample: Sample
    in_same_call: bool
    """Whether it was encoded before in the same call of the pipeline."""


def prompt_encoded_again(profile: Profile, measured: Measured) -> Iterator[Finding]:
    """A section encodes a text again that it has encoded before, according to the text's digest."""
    # A measurement repeats its call and so the encoding; only repetitions within a call count then.
    groups = [(one,) for one in measured.timed_iterations] if measured.repeated else [measured.iterations]
    again = [found for iterations in groups for found in _repeated_encodings(iterations)]
    ran = [iteration for iterations in groups for iteration in iterations]
    clock = clock_of(ran)
    whole_ns = sum(clock.length_ns(iteration.wall) for iteration in ran)
    for section in dict.fromkeys(found.sample.section for found in again):
        same = [found for found in again if found.sample.section == section]
        saved_ns = sum(clock.length_ns(found.sample.span) for found in same)
        if share(saved_ns, whole_ns) < WORTH_SAVING.value:
            continue
        yield Finding(
            "prompt_encoded_again",
            "in_one_call" if all(found.in_same_call for found in same) else "over_calls",
            share(saved_ns, whole_ns),
            {
                "section": section,
                "again": len(same),
                "prompts": len({found.sample.digest for found in same}),
                "saved_seconds": saved_ns / NANOSECONDS,
                "saved_share": share(saved_ns, whole_ns),
            },
        )


def _repeated_encodings(iterations: Sequence[Iteration]) -> Iterator[_RepeatedEncoding]:
    first: dict[tuple[str, str | None, str], int] = {}
    for number, iteration in enumerate(iterations):
        counted: set[int] = set()
        for place, sample in enumerate(iteration.samples):
            if sample.parent in counted:
                counted.add(place)  # its time is part of what was counted
            elif sample.digest is not None and not sample.failed:
                key = (sample.section, sample.component, sample.digest)
                if key in first:
                    counted.add(place)
                    yield _RepeatedEncoding(sample, first[key] == number)
                first.setdefault(key, number)


PROMPT_ENCODED_AGAIN = Rule(
    "prompt_encoded_again",
    "The same prompt is encoded more than once, in one call of the pipeline or over several.",
    ("in_one_call", "over_calls"),
    (WORTH_SAVING,),
    prompt_encoded_again,
)
