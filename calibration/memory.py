"""Predicted memory against published peaks: `python -m calibration.memory` prints every row and the summary."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from calibration.count_workloads import IMAGE_TO_IMAGE, count_image_to_image
from diffprof.catalogue.accelerators import find_accelerator
from diffprof.counting.request_profile import count_request
from diffprof.prediction.device_memory import device_memory
from diffprof.prediction.memory_simulation import predict_memory
from diffprof.prediction.timeline import pipeline_call
from diffprof.record.allocations import CALL, AllocationEvent, Allocations
from diffprof.record.changes import Changes
from diffprof.record.fit import StageMemory
from diffprof.record.profile import Profile
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


def groups(comparisons: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    """What docs/memory.md tells apart: whole pipelines, their peaks, those of models with few rows, and single VAEs."""
    found: dict[str, list[Comparison]] = {
        "pipelines": [],
        "peaks": [],
        "peaks of others than FLUX.1": [],
        "a VAE alone": [],
    }
    for each in comparisons:
        if each.row["part"]:
            found["a VAE alone"].append(each)
            continue
        found["pipelines"].append(each)
        if each.row["stage"] != "load":
            found["peaks"].append(each)
            if not each.row["model"].startswith("flux.1"):
                found["peaks of others than FLUX.1"].append(each)
    return found


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
    profile = _profile(row)
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
    return size


def _profile(row: Mapping[str, str]) -> Profile:
    if row["model"].endswith(IMAGE_TO_IMAGE):
        model = row["model"].removesuffix(IMAGE_TO_IMAGE)
        profile = count_image_to_image(model, row["dtype"], _arguments(row), row["enable"].split())
    else:
        profile = count_request(_request(row))
    return alone(profile, row["part"], row["stage"]) if row["part"] else profile


def alone(profile: Profile, slot: str, stage: str) -> Profile:
    """The calls of one component in one stage, as in a program that has nothing else on the device."""
    calls = [call for call in profile.calls if call.component == slot and stage in call.method]
    own = pipeline_call(profile)
    events = Allocations((AllocationEvent(CALL, 0),), (0,) * len(calls))
    cost = replace(own.cost, allocations=events)
    components = {slot: profile.components[slot]}
    return replace(profile, components=components, calls=(*calls, replace(own, cost=cost)))


def _arguments(row: Mapping[str, str]) -> dict[str, Any]:
    arguments: dict[str, Any] = {name: int(row[name]) for name in ("height", "width") if row[name]}
    return {**arguments, "num_inference_steps": STEPS}


def _request(row: Mapping[str, str]) -> Request:
    arguments = _arguments(row)
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
    parts = [
        row["model"],
        row["part"],
        size,
        f"batch {row['batch']}" if row["batch"] else "",
        row["dtype"],
        row["enable"],
    ]
    parts += [f"offload {row['offload']}" if row["offload"] else "", row["quantize"], row["attention"]]
    parts += [f"without {row['without']}" if row["without"] else "", row["devices"] and f"{row['devices']} devices"]
    parts += [f"layerwise {row['layerwise']}" if row["layerwise"] else "", row["stage"], row["kind"]]
    return ", ".join(part for part in parts if part)


def main() -> None:
    """Print the table."""
    comparisons = []
    for row in read_rows():
        (each,) = compare([row])
        comparisons.append(each)
        _print(
            f"{each.error:+7.1%} {each.predicted_gib:8.2f} {each.published_gib:8.2f}  "
            f"{describe(each.row)} [{each.where}] {each.row['source']}"
        )
    for name, group in groups(comparisons).items():
        _print(f"{name}: {summary([each.error for each in group])}")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()  # the whole takes minutes


if __name__ == "__main__":
    main()
