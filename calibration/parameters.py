"""The free numbers of the time model, what was known of each before the fit, and the file that they are written to."""

from __future__ import annotations

from dataclasses import dataclass

from calibration.data import runs
from diffprof.catalogue.efficiency import FittedNumbers
from diffprof.catalogue.efficiency_numbers import NAMES


@dataclass(frozen=True)
class Parameter:
    """A number that is fitted: for all accelerators, or for a family."""

    name: str
    family: str
    prior: float
    spread: float
    """Of its logarithm: how well it was known before."""


def _shared(name: str, prior: float, spread: float) -> Parameter:
    return Parameter(name, "", prior, spread)


def _families(name: str, spread: float, **priors: float) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, family.replace("_", "-"), prior, spread) for family, prior in priors.items())


KNOWN_ACCELERATORS = tuple(dict.fromkeys(run.accelerator for run in runs() if run.use == "fit"))
"""Each may be a little faster or slower than its family: clocks, coolers and drivers are."""

PARAMETERS = (
    _shared("product_share", 0.85, 0.1),
    _shared("convolution_share", 0.75, 0.3),
    _shared("scores_per_clock", 14.0, 0.3),
    _shared("masked_score_passes", 3.0, 0.3),
    _shared("wide_head_share", 0.6, 0.3),
    _shared("bandwidth_share", 0.78, 0.1),
    _shared("cache_speedup", 2.5, 0.3),
    _shared("strided_passes", 4.0, 0.3),
    _shared("elements_per_clock", 1.4, 0.2),
    _shared("norm_passes", 1.1, 0.3),
    _shared("conversion_passes", 1.0, 0.5),
    _shared("kernel_seconds", 2.5e-6, 0.4),
    _shared("operation_seconds", 9e-6, 0.5),
    _shared("module_seconds", 4e-6, 0.5),
    _shared("compiled_passes", 0.45, 0.4),
    _shared("compiled_norm_passes", 0.7, 0.4),
    _shared("compiled_conversion_passes", 0.3, 0.5),
    _shared("compiled_product_speedup", 1.05, 0.1),
    _shared("compiled_host_share", 0.3, 0.5),
    *_families(
        "joules_per_teraflop", 0.4, volta=1.5, turing=2.5, ampere=0.8, ampere_graphics=1.6, ada=1.0, hopper=0.6,
        blackwell=0.5, cdna3=0.5,
    ),
    *_families(
        "attention_share", 0.2, volta=0.8, turing=0.8, ampere=0.95, ampere_graphics=0.95, ada=0.95, hopper=0.65,
        blackwell=0.5, cdna3=0.8,
    ),
    *_families("convolution_share", 0.3, volta=0.75, turing=0.75, ampere=0.7, ampere_graphics=0.8, ada=0.8),
    *_families("scores_per_clock", 0.3, cdna3=14.0),
    *_families("kernel_seconds", 0.2, cdna3=4.5e-6),
    *_families("cache_speedup", 0.1, cdna3=1.1),
    *_families("elements_per_clock", 0.2, cdna3=0.95),
    *_families("product_share", 0.2, blackwell=0.7, cdna3=0.5, hopper=0.9),
    *(Parameter("speed", accelerator, 1.0, 0.15) for accelerator in KNOWN_ACCELERATORS),
)  # fmt: skip

HEADER = """\
# What accelerators reach of their peaks, fitted to published times: written by `python -m calibration.fit`, which
# docs/prediction.md explains. A family is an architecture; of Ampere and Blackwell the chips for graphics are apart.
# What a family does not have of its own stands in [shared].

format = 1
"""


def written(numbers: FittedNumbers) -> str:
    """The text of ``efficiency.toml``."""
    fitted = {(parameter.family, parameter.name) for parameter in PARAMETERS}
    lines = [HEADER, "[shared]"]
    for name in NAMES:
        number = numbers.shared[name]
        source = _source(("", name) in fitted, number.source)
        lines.append(f'{name} = {{ value = {number.value:.4g}, meaning = "{number.meaning}", source = "{source}" }}')
    for family, own in numbers.families.items():
        lines += ["", f"[{'accelerator' if family in KNOWN_ACCELERATORS else 'family'}.{family}]"]
        for name, number in own.items():
            source = _source((family, name) in fitted, number.source)
            lines.append(f'{name} = {{ value = {number.value:.4g}, source = "{source}" }}')
    return "\n".join(lines) + "\n"


def _source(is_fitted: bool, before: str) -> str:
    return "fitted to calibration/runs.csv and kernels.csv" if is_fitted else before
