"""Fits the numbers of the time model to the published figures, and checks it on devices and models that it did not see.

    python -m calibration.fit             # fits, writes efficiency.toml, folds.json and docs/images/prediction-*.svg
    python -m calibration.fit --no-folds  # without the cross-validation
    python -m calibration.fit --only-folds  # the cross-validation of the numbers that are there
    python -m calibration.fit --family cdna3 --no-folds  # the numbers of one family, with all others as they are

Each number is a free parameter with a prior: what was known before (architectures, other people's kernels) and how
well. The fit is a least-squares iteration on logarithms of times, so that twice and half as long are equally wrong;
errors above a fifth count with their size, not with its square, since a published figure can be wrong.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibration.data import Run, runs, workloads
from calibration.kernels import traces
from calibration.parameters import PARAMETERS, Parameter, written
from calibration.predictions import category_seconds, log_errors
from diffprof.catalogue.accelerators import find_accelerator
from diffprof.catalogue.efficiency import FILE, FittedNumbers, family_of, fitted_numbers

FOLDS = Path(__file__).parent / "folds.json"
HUBER = 0.2
ITERATIONS = 12
SMALLEST_CATEGORY = 0.08
"""Of a trace: kinds of kernels below this share of its time are noise."""

KERNEL_WEIGHT = 1.0
"""A kind of kernels in a trace counts as much as one published run."""

PRIOR_WEIGHT = 0.2
STEP = 1e-2
LARGEST_DAMPING = 1e3
"""Of a step that still gets anywhere."""


def main() -> None:
    chosen = training_runs()
    if "--only-folds" in sys.argv:
        numbers = fitted_numbers()
    elif "--family" in sys.argv:
        numbers = fit_family(chosen, sys.argv[sys.argv.index("--family") + 1])
        FILE.write_text(written(numbers), encoding="utf-8")
    else:
        numbers = fit(chosen)
        FILE.write_text(written(numbers), encoding="utf-8")
    report("fitted", chosen, numbers)
    if "--no-folds" not in sys.argv:
        folds = cross_validate(chosen, numbers)
        FOLDS.write_text(json.dumps(folds, indent=1) + "\n", encoding="utf-8")


def training_runs() -> tuple[Run, ...]:
    return tuple(run for run in runs() if run.use == "fit" and run.workload in workloads())


@dataclass
class Problem:
    """Runs and traces, and how far the model is off each of them for some values of the parameters."""

    runs: Sequence[Run]
    without_traces_of: str = ""

    def __post_init__(self) -> None:
        self.weights = run_weights(self.runs)
        self.families = [{"", family_of(run.device), run.accelerator} for run in self.runs]
        self.traces = [trace for trace in traces() if trace.accelerator != self.without_traces_of]
        self.priors = np.array([np.log(parameter.prior) for parameter in PARAMETERS])
        self.spreads = np.array([parameter.spread for parameter in PARAMETERS])

    def residuals(self, at: np.ndarray, parameter: Parameter | None = None, before: Any = None) -> np.ndarray:
        """Errors of all runs, traces and priors; `before` are those from which one parameter differs."""
        numbers = numbers_at(at)
        own, kernels = self._touched(parameter)
        errors = np.array(before[: len(self.runs)]) if parameter else np.empty(len(self.runs))
        chosen = [self.runs[place] for place in own]
        errors[own] = _huber(log_errors(chosen, numbers) * self.weights[own])
        of_kernels = self._kernel_errors(numbers) if kernels else before[len(self.runs) : -len(at)]
        return np.concatenate([errors, of_kernels, (at - self.priors) / self.spreads * PRIOR_WEIGHT])

    def _touched(self, parameter: Parameter | None) -> tuple[list[int], bool]:
        if parameter is None:
            return list(range(len(self.runs))), True
        own = [place for place, families in enumerate(self.families) if parameter.family in families]
        return own, parameter.family in ("", "hopper", "cdna3", "h100-sxm")

    def _kernel_errors(self, numbers: FittedNumbers) -> np.ndarray:
        errors = [
            KERNEL_WEIGHT * np.log(predicted / measured)
            for trace in self.traces
            for predicted, measured in large_categories(category_seconds(trace, numbers))
        ]
        return _huber(np.array(errors))

    def kernel_rows(self, held: str) -> list[bool]:
        """Of the errors of kernels, which are of other accelerators than one."""
        return [
            trace.accelerator != held
            for trace in self.traces
            for _ in large_categories(category_seconds(trace, fitted_numbers()))
        ]

    def jacobian(self, at: np.ndarray, now: np.ndarray) -> np.ndarray:
        columns = []
        for place, parameter in enumerate(PARAMETERS):
            moved = at.copy()
            moved[place] += STEP
            columns.append((self.residuals(moved, parameter, now) - now) / STEP)
        return np.stack(columns, axis=1)


def fit(chosen: Sequence[Run]) -> FittedNumbers:
    """The numbers that explain the chosen runs best."""
    problem = Problem(chosen)
    return numbers_at(_least_squares(problem, problem.priors.copy()))


def fit_family(chosen: Sequence[Run], family: str) -> FittedNumbers:
    """The numbers of one family that explain its own runs and traces best; all others stay as they are."""
    problem = FamilyProblem([run for run in chosen if family_of(run.device) == family], family)
    return numbers_at(_least_squares(problem, logarithms(fitted_numbers())))


class FamilyProblem(Problem):
    """Runs and traces of one family, of which only its own numbers change."""

    def __init__(self, chosen: Sequence[Run], family: str) -> None:
        super().__init__(chosen)
        self.free = [parameter.family == family for parameter in PARAMETERS]
        self.traces = [trace for trace in traces() if family_of(find_accelerator(trace.accelerator)) == family]

    def jacobian(self, at: np.ndarray, now: np.ndarray) -> np.ndarray:
        columns = [np.zeros(len(now)) for _ in PARAMETERS]
        for place in np.flatnonzero(self.free):
            moved = at.copy()
            moved[place] += STEP
            columns[place] = (self.residuals(moved) - now) / STEP
        return np.stack(columns, axis=1)


@dataclass
class Slopes:
    """How the errors of all runs and traces change with each number, at the numbers that were fitted to all of them.

    What is left out changes the numbers little, so that each fold starts there and takes these slopes for its own.
    """

    runs: Sequence[Run]
    start: FittedNumbers

    def __post_init__(self) -> None:
        self.problem = Problem(self.runs)
        values = logarithms(self.start)
        self.jacobian = self.problem.jacobian(values, self.problem.residuals(values))

    def fit_without(self, kind: str, held: str) -> FittedNumbers:
        """The numbers that explain all but a device (``accelerator``) or a model best."""
        own = [getattr(run, kind) != held for run in self.runs]
        problem = Problem([run for run, is_seen in zip(self.runs, own, strict=True) if is_seen], held)
        rows = np.concatenate([own, self.problem.kernel_rows(held), np.ones(len(PARAMETERS), dtype=bool)])
        return numbers_at(_descend(problem, logarithms(_forget(self.start, held)), self.jacobian[rows]))


def logarithms(numbers: FittedNumbers) -> np.ndarray:
    return np.log([numbers.number(parameter.name, parameter.family).value for parameter in PARAMETERS])


def large_categories(categories: dict[str, tuple[float, float]]) -> list[tuple[float, float]]:
    total = sum(measured for _, measured in categories.values())
    return [times for times in categories.values() if times[1] >= SMALLEST_CATEGORY * total]


def numbers_at(values: np.ndarray) -> FittedNumbers:
    changes = {
        (parameter.family, parameter.name): float(np.exp(value))
        for parameter, value in zip(PARAMETERS, values, strict=True)
    }
    return fitted_numbers().with_values(changes)


def run_weights(chosen: Sequence[Run]) -> np.ndarray:
    """Many rows of one model on one device say little more than one."""
    groups = Counter((run.accelerator, run.model, run.part) for run in chosen)
    return np.array([groups[run.accelerator, run.model, run.part] ** -0.4 for run in chosen])


def _huber(errors: np.ndarray) -> np.ndarray:
    size = np.abs(errors)
    return np.sign(errors) * np.where(size <= HUBER, size, np.sqrt(HUBER * np.maximum(HUBER, 2 * size - HUBER)))


def _least_squares(problem: Problem, values: np.ndarray) -> np.ndarray:
    """Levenberg and Marquardt's iteration."""
    return _descend(problem, values, None)


def _descend(problem: Problem, values: np.ndarray, known: np.ndarray | None) -> np.ndarray:
    """The same with slopes that are known, or that are worked out anew before each step."""
    damping, now = 1e-3, problem.residuals(values)
    for _ in range(ITERATIONS):
        jacobian = problem.jacobian(values, now) if known is None else known
        normal, gradient = jacobian.T @ jacobian, jacobian.T @ now
        while damping < LARGEST_DAMPING:
            # A number that is not free has no slope, and no step.
            damped = normal + damping * np.diag(np.diag(normal) + 1e-9)
            step = np.clip(np.linalg.solve(damped, -gradient), -0.5, 0.5)
            tried = problem.residuals(values + step)
            if tried @ tried < now @ now:
                break
            damping *= 4
        else:
            return values
        improved = now @ now - tried @ tried
        values, now, damping = values + step, tried, damping / 5
        if improved < 1e-3 * (now @ now):
            return values
    return values


def cross_validate(chosen: Sequence[Run], start: FittedNumbers) -> list[dict[str, object]]:
    """For each device and each model: the numbers that are fitted without it."""
    folds: list[dict[str, object]] = []
    slopes = Slopes(chosen, start)
    for kind in ("accelerator", "model"):
        for held in sorted({getattr(run, kind) for run in chosen}):
            numbers = slopes.fit_without(kind, held)
            left = [run for run in chosen if getattr(run, kind) == held]
            report(f"without {kind} {held}", left, numbers)
            values = {f"{p.family}:{p.name}": numbers.number(p.name, p.family).value for p in PARAMETERS}
            folds.append({"kind": kind, "held": held, "numbers": {key: float(f"{v:.5g}") for key, v in values.items()}})
    return folds


def _forget(numbers: FittedNumbers, accelerator: str) -> FittedNumbers:
    """The numbers to start from without what is known of one accelerator."""
    return numbers.with_values({(accelerator, "speed"): 1.0})


def report(title: str, chosen: Sequence[Run], numbers: FittedNumbers) -> None:
    errors = np.abs(np.exp(log_errors(chosen, numbers)) - 1)
    print(f"{title}: {len(chosen)} runs, median error {np.median(errors):.1%}, largest {np.max(errors):.1%}")  # noqa: T201


if __name__ == "__main__":
    main()
