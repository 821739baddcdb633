"""Shell completion: names of models, accelerators and metrics."""

from __future__ import annotations


def model_names(incomplete: str) -> list[str]:
    """Names of models in the catalogue that start with the typed text."""
    from diffprof import catalogue

    return _names_that_start_with(incomplete, [entry.name for entry in catalogue.entries()])


def model_or_file(incomplete: str) -> list[str]:
    """Names of models, and saved profiles in the folder of the typed path."""
    from pathlib import Path

    typed = Path(incomplete)
    folder = typed if incomplete.endswith("/") else typed.parent
    try:
        files = [file for file in folder.iterdir() if file.is_dir() or file.name.endswith((".json", ".json.gz"))]
    except OSError:
        files = []
    names = sorted(f"{file}/" if file.is_dir() else str(file) for file in files)
    return [*model_names(incomplete), *_names_that_start_with(incomplete, names)]


def accelerator_names(incomplete: str) -> list[str]:
    """Names of accelerators that start with the typed text, or with its part after the last comma."""
    from diffprof.catalogue.accelerators import accelerators

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _names_that_start_with(last, [one.name for one in accelerators()])]


def limit_names(incomplete: str) -> list[str]:
    """Metrics that a gate can limit, as ``macs=``; after a comma, the next one."""
    from diffprof.comparison.counts import METRICS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}=" for name in _names_that_start_with(last, [*METRICS, "time"])]


def _names_that_start_with(incomplete: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
