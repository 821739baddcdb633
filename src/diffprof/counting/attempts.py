"""Counts a call: as it was asked for, and where the pipeline refuses that, with what it says it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from diffprof.counting.counted_calls import CountedCalls
from diffprof.counting.dry_run import DryRunResult, dry_run
from diffprof.counting.failed_calls import missing_inputs, progress_of
from diffprof.errors import PipelineError
from diffprof.pipelines.arguments import CallArguments
from diffprof.pipelines.stand_ins import OPTIONAL_INPUTS, stand_in
from diffprof.pipelines.switches import enable_feature, has_feature
from diffprof.record.progress import Progress

MOST_ATTEMPTS = 16
TILING = "vae_tiling"


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
    needs_tiling = False
    attempts: list[frozenset[str]] = [frozenset()]
    tried: set[tuple[frozenset[str], bool]] = set()
    furthest: tuple[tuple[tuple[int, ...], bool], PipelineError] | None = None
    while attempts and len(tried) < MOST_ATTEMPTS:
        names = attempts.pop(0)
        if (names, needs_tiling) in tried:
            continue
        tried.add((names, needs_tiling))
        supplied = {name: stand_in(pipeline, name, call.given) for name in call.on_refusal if name in names}
        used = {**call.stand_ins, **supplied}
        try:
            prepare_all = _with_tiling(pipeline, prepare, needs_tiling)
            result = dry_run(pipeline, {**call.given, **used}, prepare_all, progress, counted=counted)
        except PipelineError as error:
            missing = missing_inputs(pipeline, error, [name for name in call.on_refusal if name not in names])
            # At the same line, one that lacks nothing any more came further.
            reached = (progress_of(pipeline, error), not missing)
            if furthest is None or reached > furthest[0]:
                furthest = (reached, error)
            if not needs_tiling and _asks_for_tiling(pipeline, error):
                needs_tiling = True
                attempts.insert(0, names)
            else:
                attempts = [*_next_attempts(names, missing, call.on_refusal), *attempts]
            continue
        return (replace(result, assumptions=(ENABLED, *result.assumptions)) if needs_tiling else result), used
    assert furthest is not None, "the first attempt is always made"
    raise furthest[1]


ENABLED = f"{TILING} was enabled: the pipeline does not work without it"


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


def _asks_for_tiling(pipeline: Any, error: PipelineError) -> bool:
    is_missing = isinstance(error.__cause__, NotImplementedError) and "tiling" in str(error)
    return is_missing and has_feature(pipeline, TILING)


def _with_tiling(pipeline: Any, prepare: Callable[[], None], enable: bool) -> Callable[[], None]:
    def prepare_all() -> None:
        prepare()
        if enable:
            enable_feature(pipeline, TILING)

    return prepare_all
