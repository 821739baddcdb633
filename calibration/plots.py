"""Draws how far predictions are off and puts the table into docs/prediction.md: ``python -m calibration.plots``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from calibration.checks import Checked, left_out, write_page
from diffprof.catalogue.efficiency import family_of

IMAGES = Path(__file__).parent.parent / "docs" / "images"
COLOURS = ("#4269d0", "#efb118", "#3ca951", "#ff725c", "#a463f2", "#6cc5b0", "#ff8ab7", "#9c6b4e")
SIDE, MARGIN = 460, 60
INK, FAINT = "#1c2430", "#d5dae2"


def main() -> None:
    write_page()
    checked = left_out("accelerator")
    (IMAGES / "prediction-devices.svg").write_text(scatter(checked), encoding="utf-8")
    (IMAGES / "prediction-errors.svg").write_text(errors(checked), encoding="utf-8")


def scatter(checked: Sequence[Checked]) -> str:
    """Predicted against measured seconds, each device predicted without its own times."""
    low, high = -3.0, 4.0

    def place(value: float) -> float:
        return (math.log10(value) - low) / (high - low) * SIDE

    parts = [_text(MARGIN + SIDE / 2, SIDE + MARGIN + 44, "measured seconds"), _rotated("predicted seconds")]
    for power in range(int(low), int(high) + 1):
        at = (power - low) / (high - low) * SIDE
        label = f"{10.0**power:g}"
        parts.append(_line(MARGIN + at, MARGIN, MARGIN + at, MARGIN + SIDE, FAINT))
        parts.append(_line(MARGIN, MARGIN + at, MARGIN + SIDE, MARGIN + at, FAINT))
        parts.append(_text(MARGIN + at, SIDE + MARGIN + 20, label))
        parts.append(_text(MARGIN - 8, MARGIN + SIDE - at + 4, label, "end"))
    parts.append(_line(MARGIN, MARGIN + SIDE, MARGIN + SIDE, MARGIN, INK))
    families = sorted({family_of(one.run.device) for one in checked})
    for number, family in enumerate(families):
        colour = COLOURS[number % len(COLOURS)]
        for one in checked:
            if family_of(one.run.device) == family:
                x, y = MARGIN + place(one.run.seconds), MARGIN + SIDE - place(one.predicted)
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}" fill-opacity="0.75"/>')
        parts.append(f'<circle cx="{MARGIN + 16}" cy="{MARGIN + 14 + 18 * number}" r="4" fill="{colour}"/>')
        parts.append(_text(MARGIN + 26, MARGIN + 18 + 18 * number, family, "start"))
    return _svg(SIDE + MARGIN + 30, SIDE + MARGIN + 60, parts)


def errors(checked: Sequence[Checked]) -> str:
    """Predicted against measured, one column of points for each device, in the order of their medians."""
    ratios: dict[str, list[float]] = {}
    for one in checked:
        ratios.setdefault(one.run.accelerator, []).append(one.predicted / one.run.seconds)
    names = sorted(ratios, key=lambda name: sorted(ratios[name])[len(ratios[name]) // 2])
    row, width = 20, 420

    def place(ratio: float) -> float:
        return 150 + (math.log2(min(2, max(0.5, ratio))) + 1) / 2 * width

    height = 40 + row * len(names)
    parts = []
    for ratio in (0.5, 0.7, 1.0, 1.4, 2.0):
        parts.append(_line(place(ratio), 10, place(ratio), height - 25, INK if ratio == 1 else FAINT))
        parts.append(_text(place(ratio), height - 8, f"{ratio:g}x"))
    for number, name in enumerate(names):
        y = 24 + row * number
        parts.append(_text(140, y + 4, name, "end"))
        parts += [
            f'<circle cx="{place(ratio):.1f}" cy="{y}" r="3.5" fill="{COLOURS[0]}" fill-opacity="0.6"/>'
            for ratio in ratios[name]
        ]
    return _svg(600, height, parts)


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}'
    style = 'font-family="system-ui, sans-serif" font-size="12"'
    background = f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>'
    return "\n".join([f"{head} {style}>", background, *parts, "</svg>", ""])


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{text}</text>'


def _rotated(text: str) -> str:
    x, y = 16, MARGIN + SIDE / 2
    return (
        f'<text x="{x}" y="{y:.1f}" text-anchor="middle" fill="{INK}" transform="rotate(-90 {x} {y:.1f})">{text}</text>'
    )


if __name__ == "__main__":
    main()
