"""Count a call as requested; if the pipeline refuses it, add the inputs that it needs."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from diffprof.counting.counted_calls import CountedCalls
from diffprof.counting.dry_run import DryRunResult, dry_run
from diffprof.counting.failed_calls import missing_inputs, progress_of
from diffprof.errors import OutOfMemoryError, PipelineError
from diffprof.pipelines.arguments import CallArguments
from diffprof.pipelines.stand_ins import OPTIONAL_INPUTS, NoStandInError, stand_in
from diffprof.pipelines.switches import enable_feature, has_feature
from diffprof.record.progress import Progress

MAX_ATTEMPTS = 16
TILING, TRUTH = "vae_tiling", "truth"


def count(
    pipeline: Any,
    call: CallArguments,
    prepare: Callable[[], None],
    progress: Progress | None,
    counted: CountedCalls | None = None,
) -> tuple[DryRunResult, dict[str, Any]]:
    """Return the dry run and the stand-ins that it used. Optional inputs are supplied only if the call needs them.

    If no attempt succeeds, the error of the attempt that got furthest is raised; if several got equally far, that of
    the first, which is closest to the request.
    """
    search = _Search(pipeline, call)
    while attempt := search.next_attempt():
        stand_ins = {**call.stand_ins, **_supply(pipeline, call, attempt.inputs)}
        is_tiled = TILING in attempt.needs
        try:
            result = dry_run(
                pipeline,
                {**call.given, **stand_ins},
                _with_tiling(pipeline, prepare, is_tiled),
                progress,
                large_values=TRUTH in attempt.needs,
                # A call of a pipeline with tiling, or with other assumed values, is a different call.
                counted=None if attempt.needs else counted,
            )
        except OutOfMemoryError:
            raise  # no retry: the answer must not depend on the available memory
        except PipelineError as error:
            search.learn_from(attempt, error)
        else:
            return (replace(result, assumptions=(ENABLED, *result.assumptions)) if is_tiled else result), stand_ins
    raise search.furthest_error()


class _Attempt(NamedTuple):
    inputs: frozenset[str]
    """Names of the optional inputs that are supplied."""
    needs: frozenset[str]
    """Other requirements of the call: `TILING`, `TRUTH`."""


class _Search:
    """Chooses the inputs to try next from the failures so far."""

    def __init__(self, pipeline: Any, call: CallArguments) -> None:
        self.pipeline = pipeline
        self.optional = call.on_refusal
        self.common = frozenset(call.on_refusal) & frozenset(OPTIONAL_INPUTS)
        self.queue: list[frozenset[str]] = [frozenset()]
        self.needs: frozenset[str] = frozenset()
        self.tried: set[_Attempt] = set()
        self.first_failure: tuple[tuple[int, ...], str] | None = None
        self.furthest: tuple[tuple[tuple[int, ...], bool], PipelineError] | None = None

    def next_attempt(self) -> _Attempt | None:
        while self.queue and len(self.tried) < MAX_ATTEMPTS:
            attempt = _Attempt(self.queue.pop(0), self.needs)
            if attempt not in self.tried:
                self.tried.add(attempt)
                return attempt
        return None

    def learn_from(self, attempt: _Attempt, error: PipelineError) -> None:
        """Put the inputs that this failure suggests at the head of the queue, or give up if no input can help."""
        inputs = attempt.inputs
        line = progress_of(self.pipeline, error)
        missing = missing_inputs(self.pipeline, error, [name for name in self.optional if name not in inputs])
        # Of two failures at the same line, the one without missing inputs got further.
        reached = (line, not missing)
        if self.furthest is None or (reached > self.furthest[0] and not _is_same_refusal(error, self.furthest[1])):
            self.furthest = (reached, error)
        failure = (line, str(error))
        self.first_failure = self.first_failure or failure
        is_unchanged = failure == self.first_failure
        new_needs = _needs_of(self.pipeline, error) - self.needs
        # If all inputs together change nothing, no single one does: the layers of a model do not fit together.
        if _has_outdated_model(error) or (self.common and inputs >= self.common and is_unchanged):
            self.queue = []
        elif new_needs:
            self.needs |= new_needs
            self.queue.insert(0, inputs)
        elif not inputs or not is_unchanged:  # inputs that change nothing lead nowhere
            self.queue = [*_next_attempts(inputs, missing, self.optional), *self.queue]

    def furthest_error(self) -> PipelineError:
        assert self.furthest is not None, "the first attempt is always made"
        return self.furthest[1]


def _is_same_refusal(error: PipelineError, other: PipelineError) -> bool:
    """Whether two errors differ only in their numbers; only those of the first call were requested."""
    without_numbers = [re.sub(r"\d+", "0", str(one)) for one in (error, other)]
    return without_numbers[0] == without_numbers[1]


def _has_outdated_model(error: PipelineError) -> bool:
    """Whether the pipeline uses an attribute that the class of a model lacks; no input changes that."""
    cause = error.__cause__
    return isinstance(cause, AttributeError) and isinstance(cause.obj, torch.nn.Module)


def _needs_of(pipeline: Any, error: PipelineError) -> frozenset[str]:
    """Return the requirements of a call that are not inputs."""
    cause = error.__cause__
    if isinstance(cause, NotImplementedError) and "tiling" in str(error) and has_feature(pipeline, TILING):
        return frozenset({TILING})
    # Code that checks its values expects them to be valid, so unknown values are taken as true.
    return frozenset({TRUTH}) if isinstance(cause, AssertionError) else frozenset()


ENABLED = f"{TILING} was enabled: the pipeline does not work without it"


def _supply(pipeline: Any, call: CallArguments, names: frozenset[str]) -> dict[str, Any]:
    """Return stand-ins for these inputs, except for those that need components which this pipeline does not have."""
    supplied = {}
    for name in call.on_refusal:
        if name in names:
            with contextlib.suppress(NoStandInError):
                supplied[name] = stand_in(pipeline, name, call.given)
    return supplied


def _next_attempts(tried: frozenset[str], missing: list[str], optional: Sequence[str]) -> list[frozenset[str]]:
    """Return the inputs to supply after a failure: the missing ones, the usual ones, all common ones or one."""
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
