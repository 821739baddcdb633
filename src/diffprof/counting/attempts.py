"""Counts a call: as it was asked for, and where the pipeline refuses that, with what it says it needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from diffprof.counting.dry_run import DryRunResult, dry_run
from diffprof.errors import PipelineError
from diffprof.pipelines.arguments import CallArguments
from diffprof.pipelines.switches import enable_feature, has_feature
from diffprof.record.progress import Progress

MOST_ATTEMPTS = 12
TILING = "vae_tiling"


def count(
    pipeline: Any, call: CallArguments, prepare: Callable[[], None], progress: Progress | None
) -> tuple[DryRunResult, dict[str, Any]]:
    """The dry run and the stand-ins that it used. Inputs that may be left out are supplied only when it fails without.

    The error of a call that works in no way is that of the call as it was asked for.
    """
    needs_tiling = False
    attempts: list[frozenset[str]] = [frozenset()]
    tried: set[tuple[frozenset[str], bool]] = set()
    first_error: PipelineError | None = None
    while attempts and len(tried) < MOST_ATTEMPTS:
        names = attempts.pop(0)
        if (names, needs_tiling) in tried:
            continue
        tried.add((names, needs_tiling))
        used = {**call.stand_ins, **{name: call.on_refusal[name] for name in call.on_refusal if name in names}}
        try:
            result = dry_run(pipeline, {**call.given, **used}, _with_tiling(pipeline, prepare, needs_tiling), progress)
        except PipelineError as error:
            first_error = first_error or error
            if not needs_tiling and _asks_for_tiling(pipeline, error):
                needs_tiling = True
                attempts.insert(0, names)
            else:
                attempts = [*_next_attempts(names, str(error), list(call.on_refusal)), *attempts]
            continue
        return (replace(result, assumptions=(ENABLED, *result.assumptions)) if needs_tiling else result), used
    assert first_error is not None, "the first attempt is always made"
    raise first_error


ENABLED = f"{TILING} was enabled: the pipeline does not work without it"


def _next_attempts(tried: frozenset[str], message: str, optional: list[str]) -> list[frozenset[str]]:
    """Which inputs to supply after a failure: those that its message names, the usual, all, or one alone."""
    named = [name for name in optional if re.search(rf"\b{name}\b", message)]
    together = [tried | {name} for name in named if name not in tried]
    usual = frozenset(optional) & USUAL_INPUTS
    if tried:
        return [*together, tried | usual]
    alone = [frozenset({name}) for name in optional]
    sets = [frozenset(named), *together, *alone[:1], usual, frozenset(optional), *alone[1:]]
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
