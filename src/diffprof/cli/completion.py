"""What a shell can complete: names of models, accelerators and metrics, each as its list has them."""

from __future__ import annotations


def model_names(incomplete: str) -> list[str]:
    """Models of the catalogue whose name begins like this."""
    from diffprof import catalogue

    return _names_that_start_with(incomplete, [entry.name for entry in catalogue.entries()])


def accelerator_names(incomplete: str) -> list[str]:
    """Accelerators whose name begins like this; after a comma, one more."""
    from diffprof.catalogue.accelerators import accelerators

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _names_that_start_with(last, [one.name for one in accelerators()])]


def limit_names(incomplete: str) -> list[str]:
    """Metrics that a gate can limit, as ``macs=``; after a comma, one more."""
    from diffprof.comparison.counts import METRICS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}=" for name in _names_that_start_with(last, [*METRICS, "time"])]


def _names_that_start_with(incomplete: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
