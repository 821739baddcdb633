"""Profiles side by side for the page: from models, uploads and runs, with curves over size and steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffprof.app.choices import model_title
from diffprof.app.counting import DIALS, counted, has, in_force
from diffprof.app.working import Report, Stopped
from diffprof.errors import DiffprofError, FileFormatError, RequestError
from diffprof.profiles.record import Profile
from diffprof.render.figures.curves import Curve

SCALES = (0.5, 0.75, 1, 1.25, 1.5)
STEPS = (1, 10, 20, 30, 50)
FITS = 64
"""Sides that are multiples of it suit nearly all models."""
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
    width, height = in_force(profile, width_dial), in_force(profile, height_dial)
    requests: dict[int, dict[str, Any]] = {}
    if width and height and has(profile, width_dial) and has(profile, height_dial):
        for scale in SCALES:
            wide, high = (max(FITS, round(side * scale / FITS) * FITS) for side in (width, height))
            requests[wide * high] = {"width": wide, "height": high}
    steps = {count: {"num_inference_steps": count} for count in STEPS} if has(profile, steps_dial) else {}

    def curve(asked: Mapping[int, dict[str, Any]]) -> Curve:
        points = {}
        for place, change in asked.items():
            report(f"counting {name} with {', '.join(f'{key} {value}' for key, value in change.items())}", None, None)
            try:
                points[place] = counted(model, {**arguments, **change}, report).total.macs
            except Stopped:
                raise
            except DiffprofError as error:
                notes.append(f"{name} is not in the curve at {change}: {error}")
        return Curve(name, list(points), list(points.values()))

    return curve(requests), curve(steps)
