"""Checks of the output formats that a user chose, made before any work is done."""

from __future__ import annotations

from pathlib import Path

from diffprof.errors import RequestError


def check_formats(json: bool, csv: bool, markdown: bool = False) -> None:
    """Refuse more than one of --json, --csv and --markdown."""
    chosen = [name for name, is_chosen in (("--json", json), ("--csv", csv), ("--markdown", markdown)) if is_chosen]
    if len(chosen) > 1:
        raise RequestError(f"{' and '.join(chosen)} exclude each other; choose one.")


def check_ending(file: Path, endings: tuple[str, ...]) -> None:
    """Refuse a file whose name ends in none of `endings`."""
    if file.suffix.lower() not in endings:
        raise RequestError(f"Cannot tell the format of {file}; use one of {', '.join(endings)}.")
