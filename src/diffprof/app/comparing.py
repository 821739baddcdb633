"""Profiles side by side for the page: from models, uploads and runs, with curves over size and steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffprof.analyse.curves import Requests, sizes_to_count, steps_to_count
from diffprof.app.choices import model_title
from diffprof.app.counting import DIALS, counted, has
from diffprof.app.working import Report, Stopped
from diffprof.errors import DiffprofError, FileFormatError, RequestError
from diffprof.profiles.record import Profile
from diffprof.render.figures.curves import Curve

MOST = 12


@dataclass(frozen=True)
class SideBySide:
    """What is compared, under names that tell them apart."""

    profiles: Sequence[Profile]
    names: Sequence[str]
    sizes: Sequence[Curve] = ()
    steps: Sequence[Curve] = ()
    notes: Sequence[str] = ()


def side_by_side(
    models: Sequence[str], uploads: Sequence[str], arguments: Mapping[str, Any], curves: bool, report: Report
) -> SideBySide:
    """Count the models and read the uploads."""
    if len(models) + len(uploads) < 2:
        raise RequestError("Choose two models or more, or upload saved profiles.")
    if len(models) + len(uploads) > MOST:
        raise RequestError(f"At most {MOST} can be compared at once, not {len(models) + len(uploads)}.")
    saved = [uploaded(Path(path)) for path in uploads]
    profiles = [counted(model, arguments, report) for model in models]
    names = told_apart([*map(model_title, models), *(Path(path).name for path in uploads)])
    notes: list[str] = []
    drawn = (
        [_curves(*one, arguments, report, notes) for one in zip(models, names, profiles, strict=False)]
        if curves
        else []
    )
    return SideBySide(
        [*profiles, *saved], names, [size for size, _ in drawn], [steps for _, steps in drawn], tuple(notes)
    )


def uploaded(path: Path) -> Profile:
    """A saved profile that a visitor sent; its errors name the file as the visitor does."""
    import diffprof

    try:
        return diffprof.load(path)
    except FileFormatError as error:
        raise FileFormatError(str(error).replace(str(path), path.name)) from None


def told_apart(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that come more than once."""
    return [
        name if names.count(name) == 1 else f"{name} ({list(names[: place + 1]).count(name)})"
        for place, name in enumerate(names)
    ]


def _curves(
    model: str, name: str, profile: Profile, arguments: Mapping[str, Any], report: Report, notes: list[str]
) -> tuple[Curve, Curve]:
    width_dial, height_dial, steps_dial = DIALS[:3]
    sizes = sizes_to_count(profile) if has(profile, width_dial) and has(profile, height_dial) else {}
    steps = steps_to_count(profile) if has(profile, steps_dial) else {}

    def curve(asked: Requests) -> Curve:
        points = {}
        for place, change in asked.items():
            with_what = ", ".join(f"{key} {value}" for key, value in change.items())
            report(f"counting {name} with {with_what}", None, None)
            try:
                points[place] = counted(model, {**arguments, **change}, report).total.macs
            except Stopped:
                raise
            except DiffprofError as error:
                notes.append(f"{name} is not in the curve at {with_what}: {error}")
        return Curve(name, list(points), list(points.values()))

    return curve(sizes), curve(steps)
