"""Predicted memory against published peaks: `python -m calibration.memory` prints every row and the summary."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from diffprof.catalogue.accelerators import find_accelerator
from diffprof.counting.cached import count_request
from diffprof.prediction.device_memory import device_memory
from diffprof.prediction.memory_simulation import predict_memory
from diffprof.record.changes import Changes
from diffprof.record.fitted import StageMemory
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings

ROWS = Path(__file__).with_name("memory.csv")
GIB = 1024**3
STEPS = 3
"""Memory is the same in every step."""


@dataclass(frozen=True)
class Comparison:
    """One published peak and what is predicted for it."""

    row: Mapping[str, str]
    published_gib: float
    predicted_gib: float
    where: str

    @property
    def error(self) -> float:
        return self.predicted_gib / self.published_gib - 1


def read_rows() -> list[dict[str, str]]:
    """The published figures."""
    with ROWS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def compare(rows: Iterable[Mapping[str, str]]) -> list[Comparison]:
    """Predict every row."""
    return [_compare(row) for row in rows]


def summary(errors: Sequence[float]) -> dict[str, float]:
    """The median error, and the shares of rows within 15 and 20 percent."""
    sizes = [abs(error) for error in errors]
    return {
        "rows": len(sizes),
        "median": median(sizes),
        "within_15": sum(size <= 0.15 for size in sizes) / len(sizes),
        "above_20": sum(size > 0.20 for size in sizes),
    }


def _compare(row: Mapping[str, str]) -> Comparison:
    profile = count_request(_request(row))
    accelerator = find_accelerator(row["accelerator"]) if row["accelerator"] else None
    device = device_memory(accelerator)
    stages = predict_memory(profile, _settings(row), device, device.capacity_bytes)
    chosen = [stage for stage in stages if row["stage"] in ("", stage.stage)]
    peak = max(chosen, key=lambda stage: _bytes(stage, row))
    return Comparison(
        row, float(row["gib"]), _bytes(peak, row) / GIB, f"{peak.stage} {peak.component} {peak.module}".strip()
    )


def _bytes(stage: StageMemory, row: Mapping[str, str]) -> int:
    size: int = getattr(stage, f"{row['kind']}_bytes")
    return size - sum(stage.weights.values()) if row["part"] == "activations" else size


def _request(row: Mapping[str, str]) -> Request:
    arguments: dict[str, Any] = {name: int(row[name]) for name in ("height", "width") if row[name]}
    arguments["num_inference_steps"] = STEPS
    if row["frames"]:
        arguments["num_frames"] = int(row["frames"])
    if row["batch"]:
        arguments["num_images_per_prompt"] = int(row["batch"])
    return Request.create(row["model"], arguments, dtype=row["dtype"] or None, enable=row["enable"].split())


def _settings(row: Mapping[str, str]) -> RunSettings:
    layerwise = [f"{slot}=fp8" for slot in row["layerwise"].split()]
    changes = Changes.create(quantize=row["quantize"].split(), layerwise=layerwise)
    return RunSettings(
        offload=row["offload"] or "none",
        quantize=changes.quantize,
        layerwise=changes.layerwise,
        attention=row["attention"] or "sdpa",
        without=tuple(row["without"].split()),
        devices=int(row["devices"] or 1),
    )


def describe(row: Mapping[str, str]) -> str:
    """The conditions of a row in a line."""
    size = "x".join(row[name] for name in ("frames", "height", "width") if row[name])
    parts = [row["model"], size, f"batch {row['batch']}" if row["batch"] else "", row["dtype"], row["enable"]]
    parts += [f"offload {row['offload']}" if row["offload"] else "", row["quantize"], row["attention"]]
    parts += [f"without {row['without']}" if row["without"] else "", row["devices"] and f"{row['devices']} devices"]
    parts += [f"layerwise {row['layerwise']}" if row["layerwise"] else "", row["stage"], row["kind"]]
    return ", ".join(part for part in parts if part)


def main() -> None:
    """Print the table."""
    comparisons = compare(read_rows())
    lines = [
        f"{each.error:+7.1%} {each.predicted_gib:8.2f} {each.published_gib:8.2f}  "
        f"{describe(each.row)} [{each.where}] {each.row['source']}"
        for each in comparisons
    ]
    lines.append(str(summary([each.error for each in comparisons])))
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
