"""Counts a call: as it was asked for, and where the pipeline refuses that, with what it says it needs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from diffprof.counting.counted_calls import CountedCalls
from diffprof.counting.dry_run import DryRunResult, dry_run
from diffprof.counting.failed_calls import missing_inputs, progress_of
from diffprof.errors import OutOfMemoryError, PipelineError
from diffprof.pipelines.arguments import CallArguments
from diffprof.pipelines.stand_ins import OPTIONAL_INPUTS, NoStandInError, stand_in
from diffprof.pipelines.switches import enable_feature, has_feature
from diffprof.record.progress import Progress

MOST_ATTEMPTS = 16
TILING, TRUTH = "vae_tiling", "truth"


def count(
    pipeline: Any,
    call: CallArguments,
    prepare: Callable[[], None],
    progress: Progress | None,
    counted: CountedCalls | None = None,
) -> tuple[DryRunResult, dict[str, Any]]:
    """The dry run and the stand-ins that it used. Inputs that may be left out are supplied only when it fails without.

    The error of a call that works in no way is that of the attempt which came furthest; of those that came equally far
    it is the first, so that of the call as it was asked for.
    """
    needs: frozenset[str] = frozenset()
    attempts: list[frozenset[str]] = [frozenset()]
    tried: set[tuple[frozenset[str], frozenset[str]]] = set()
    furthest: tuple[tuple[tuple[int, ...], bool], PipelineError] | None = None
    common = frozenset(call.on_refusal) & frozenset(OPTIONAL_INPUTS)
    first: tuple[tuple[int, ...], str] | None = None
    while attempts and len(tried) < MOST_ATTEMPTS:
        names = attempts.pop(0)
        if (names, needs) in tried:
            continue
        tried.add((names, needs))
        used = {**call.stand_ins, **_supply(pipeline, call, names)}
        arguments, is_tiled = {**call.given, **used}, TILING in needs
        try:
            prepare_all = _with_tiling(pipeline, prepare, is_tiled)
            # A call of a pipeline that is tiled, or is told other values, is another one.
            shared = None if needs else counted
            result = dry_run(pipeline, arguments, prepare_all, progress, large_values=TRUTH in needs, counted=shared)
        except OutOfMemoryError:
            raise  # another input might need less: the answer must not depend on the memory that there is
        except PipelineError as error:
            missing = missing_inputs(pipeline, error, [name for name in call.on_refusal if name not in names])
            # At the same line, one that lacks nothing any more came further.
            reached = (progress_of(pipeline, error), not missing)
            if furthest is None or reached > furthest[0]:
                furthest = (reached, error)
            failure = (reached[0], str(error))
            first = first or failure
            # Where all inputs together change nothing, none of them does: a model's layers do not fit each other.
            if _has_outdated_model(error) or (names >= common != frozenset() and failure == first):
                break
            more = _needs_of(pipeline, error) - needs
            needs |= more
            if more:
                attempts = [names, *attempts]
            elif not names or failure != first:  # what changes nothing is no way to go on
                attempts = [*_next_attempts(names, missing, call.on_refusal), *attempts]
            continue
        return (replace(result, assumptions=(ENABLED, *result.assumptions)) if is_tiled else result), used
    assert furthest is not None, "the first attempt is always made"
    raise furthest[1]


def _has_outdated_model(error: PipelineError) -> bool:
    """Whether the pipeline asks a model for what its class does not have: no input changes that."""
    cause = error.__cause__
    return isinstance(cause, AttributeError) and isinstance(cause.obj, torch.nn.Module)


def _needs_of(pipeline: Any, error: PipelineError) -> frozenset[str]:
    """What a call cannot do without that is no input."""
    cause = error.__cause__
    if isinstance(cause, NotImplementedError) and "tiling" in str(error) and has_feature(pipeline, TILING):
        return frozenset({TILING})
    # Code that is sure of its values checks them: what is not known is true then.
    return frozenset({TRUTH}) if isinstance(cause, AssertionError) else frozenset()


ENABLED = f"{TILING} was enabled: the pipeline does not work without it"


def _supply(pipeline: Any, call: CallArguments, names: frozenset[str]) -> dict[str, Any]:
    """Stand-ins for these inputs; none for one that is made of parts which this pipeline does not have."""
    supplied = {}
    for name in call.on_refusal:
        if name in names:
            with contextlib.suppress(NoStandInError):
                supplied[name] = stand_in(pipeline, name, call.given)
    return supplied


def _next_attempts(tried: frozenset[str], missing: list[str], optional: Sequence[str]) -> list[frozenset[str]]:
    """Which inputs to supply after a failure: those that it lacked, the usual, all that are common, or one alone."""
    together = [tried | {name} for name in missing if name not in tried]
    usual = frozenset(optional) & USUAL_INPUTS
    if tried:
        return [tried | frozenset(missing), *together, tried | usual]
    common = [name for name in optional if name in OPTIONAL_INPUTS]
    alone = [frozenset({name}) for name in common]
    sets = [frozenset(missing), *together, *alone[:1], usual, frozenset(common), *alone[1:]]
    return [names for names in sets if names]


USUAL_INPUTS = {"image", "control_image", "mask_image", "video", "images", "conditioning_image", "condition_image"}


def _with_tiling(pipeline: Any, prepare: Callable[[], None], enable: bool) -> Callable[[], None]:
    def prepare_all() -> None:
        prepare()
        if enable:
            enable_feature(pipeline, TILING)

    return prepare_all
