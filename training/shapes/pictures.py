"""The pictures of docs/shapes-model.md and docs/generate.md: ``python -m training.shapes.pictures``."""

from __future__ import annotations

import csv
import math
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path

import torch
from diffusers import DiffusionPipeline
from PIL import Image, ImageDraw, ImageFont

from diffprof.generation.image_files import contact_sheet as sheet
from diffprof.inference import generate_image

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "src" / "diffprof" / "shapes_model"
LOG = Path(__file__).parent / "loss.csv"
IMAGES = ROOT / "docs" / "images"
PROMPTS = (
    "a red circle on a blue background",
    "a yellow star on a black background",
    "a green square on a white background",
    "an orange triangle on a purple background",
    "a white star on a red background",
    "a black circle on a yellow background",
    "a small purple square on a white background",
    "a large blue triangle on an orange background",
    "a small white circle at the top on a green background",
    "a black star at the bottom on a white background",
    "a large yellow square on the left on a blue background",
    "a red triangle on the right on a black background",
    "a red circle to the left of a blue square on a white background",
    "a yellow star above a green circle on a black background",
    "a white square below an orange triangle on a blue background",
    "a purple circle and a black star on a yellow background",
)
STEPS, GUIDANCE, SEED = 20, 4.0, 0
ENLARGED, ACROSS, MARGIN = 3, 4, 12
SVG_WIDTH, SVG_HEIGHT, LEFT, TOP, PANEL = 860, 300, 60, 40, 340
SMOOTHED_OVER = 25


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    sample_grid(MODEL).save(IMAGES / "shapes-samples.png", optimize=True)
    sheet([(prompt, drawn(prompt, STEPS)) for prompt in PROMPTS[:4]]).save(
        IMAGES / "shapes-generate.png", optimize=True
    )
    fewer = [(f"{steps} steps", drawn(PROMPTS[1], steps)) for steps in (STEPS, 8, 4, 2)]
    sheet(fewer).save(IMAGES / "shapes-steps.png", optimize=True)
    (IMAGES / "shapes-loss.svg").write_text(loss_curve(LOG), encoding="utf-8")


def sample_grid(model: Path) -> Image.Image:
    """A picture of each prompt, enlarged, with the prompt below it."""
    pipeline = DiffusionPipeline.from_pretrained(model, local_files_only=True)
    pictures = pipeline(
        list(PROMPTS),
        num_inference_steps=STEPS,
        guidance_scale=GUIDANCE,
        generator=[torch.Generator().manual_seed(SEED) for _ in PROMPTS],
    ).images
    side = pictures[0].width * ENLARGED
    cell, high = side + MARGIN, side + MARGIN + 48
    grid = Image.new("RGB", (ACROSS * cell + MARGIN, math.ceil(len(pictures) / ACROSS) * high + MARGIN), "#e8e8e8")
    pencil, font = ImageDraw.Draw(grid), ImageFont.load_default(12)
    for number, (prompt, picture) in enumerate(zip(PROMPTS, pictures, strict=True)):
        x, y = MARGIN + number % ACROSS * cell, MARGIN + number // ACROSS * high
        grid.paste(picture.resize((side, side), Image.Resampling.NEAREST), (x, y))
        pencil.multiline_text((x, y + side + 3), _in_lines(prompt), fill="#222", font=font, spacing=1)
    return grid


def drawn(prompt: str, steps: int) -> Image.Image:
    """The picture that `diffprof generate` makes."""
    with tempfile.TemporaryDirectory() as folder:
        made = generate_image(
            "shapes", prompt, num_inference_steps=steps, seed=7, output_dir=folder, enable_profiling=False
        )
    image: Image.Image = made.image
    return image


def _in_lines(prompt: str) -> str:
    things, _, background = prompt.rpartition(" on ")
    return "\n".join([*textwrap.wrap(things, 33), f"on {background}"])


def loss_curve(log: Path) -> str:
    """The loss of both parts over their steps, as SVG; the loss goes up by factors of ten."""
    with log.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    parts = list(dict.fromkeys(row["part"] for row in rows))
    panels = [
        _panel(part, [float(row["loss"]) for row in rows if row["part"] == part], LEFT + number * (PANEL + LEFT + 10))
        for number, part in enumerate(parts)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SVG_WIDTH} {SVG_HEIGHT}" '
        'font-family="sans-serif" font-size="12">\n'
        f'<rect width="{SVG_WIDTH}" height="{SVG_HEIGHT}" fill="#ffffff"/>\n' + "\n".join(panels) + "\n</svg>\n"
    )


def _panel(title: str, losses: Sequence[float], left: int) -> str:
    groups = [losses[start : start + SMOOTHED_OVER] for start in range(0, len(losses), SMOOTHED_OVER)]
    means = [sum(group) / len(group) for group in groups]
    low, high = math.floor(math.log10(min(means))), math.ceil(math.log10(max(means)))
    bottom = SVG_HEIGHT - 50

    def across(step: float) -> float:
        return left + PANEL * step / len(losses)

    def up(loss: float) -> float:
        return bottom - (bottom - TOP) * (math.log10(loss) - low) / (high - low)

    points = [(across((number + 0.5) * SMOOTHED_OVER), up(mean)) for number, mean in enumerate(means)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    grid = [_level(10.0**power, left, up(10.0**power)) for power in range(low, high + 1)]
    ticks = [
        f'<text x="{across(step):.0f}" y="{bottom + 18}" text-anchor="middle" fill="#555">{step:.0f}</text>'
        for step in (0, len(losses) / 2, len(losses))
    ]
    return "\n".join((
        f'<text x="{left}" y="22" font-size="14" font-weight="bold" fill="#222">{title}: mean squared error</text>',
        *grid,
        *ticks,
        f'<text x="{left + PANEL / 2:.0f}" y="{bottom + 38}" text-anchor="middle" fill="#555">step</text>',
        f'<polyline points="{line}" fill="none" stroke="#1f5fbf" stroke-width="2"/>',
    ))  # fmt: skip


def _level(loss: float, left: int, y: float) -> str:
    return (
        f'<line x1="{left}" x2="{left + PANEL}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{loss:g}</text>'
    )


if __name__ == "__main__":
    main()
