"""diffprof: what a diffusion pipeline costs, where the cost goes and what to change."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from diffprof.errors import DiffprofError, needs_torch
from diffprof.version import __version__

if TYPE_CHECKING:
    from diffprof.advice.advise import advise
    from diffprof.advice.fit import fit
    from diffprof.advice.predict import predict
    from diffprof.advice.scale import Scaling
    from diffprof.api import compare, measure, measure_in_turns, profile, profile_module, scale
    from diffprof.comparison.compare import Comparison
    from diffprof.counting.formulas.kinds import OperationCost
    from diffprof.counting.formulas.registry import register_formula
    from diffprof.record.advice import Advice
    from diffprof.record.files import load
    from diffprof.record.fit import Fit
    from diffprof.record.prediction import Prediction
    from diffprof.record.profile import Profile
    from diffprof.render.exports.spans import record_spans
    from diffprof.runtime.measure import Run, measuring
    from diffprof.runtime.step_profiler import StepProfiler
    from diffprof.runtime.watch import Watched, watch
    from diffprof.sweeps.run import sweep

__all__ = [
    "Advice",
    "Comparison",
    "DiffprofError",
    "Fit",
    "OperationCost",
    "Prediction",
    "Profile",
    "Run",
    "Scaling",
    "StepProfiler",
    "Watched",
    "__version__",
    "advise",
    "compare",
    "fit",
    "load",
    "measure",
    "measure_in_turns",
    "measuring",
    "predict",
    "profile",
    "profile_module",
    "record_spans",
    "register_formula",
    "scale",
    "sweep",
    "watch",
]

_MODULES = {
    "Advice": "diffprof.record.advice",
    "Comparison": "diffprof.comparison.compare",
    "Fit": "diffprof.record.fit",
    "OperationCost": "diffprof.counting.formulas.kinds",
    "Prediction": "diffprof.record.prediction",
    "Profile": "diffprof.record.profile",
    "Run": "diffprof.runtime.measure",
    "Scaling": "diffprof.advice.scale",
    "StepProfiler": "diffprof.runtime.step_profiler",
    "Watched": "diffprof.runtime.watch",
    "advise": "diffprof.advice.advise",
    "compare": "diffprof.api",
    "fit": "diffprof.advice.fit",
    "load": "diffprof.record.files",
    "measure": "diffprof.api",
    "measure_in_turns": "diffprof.api",
    "measuring": "diffprof.runtime.measure",
    "predict": "diffprof.advice.predict",
    "profile": "diffprof.api",
    "profile_module": "diffprof.api",
    "record_spans": "diffprof.render.exports.spans",
    "register_formula": "diffprof.counting.formulas.registry",
    "scale": "diffprof.api",
    "sweep": "diffprof.sweeps.run",
    "watch": "diffprof.runtime.watch",
}
"""Where each public name is: imported when it is first used, so that help comes at once and reading needs no torch."""


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__") and name not in __all__)]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'diffprof' has no attribute {name!r}")
    with needs_torch(f"diffprof.{name}"):
        return getattr(import_module(_MODULES[name]), name)
