"""Counts every workload of workloads.csv and writes what its time depends on to workloads.json.gz.

    python -m calibration.count_workloads

The file is part of the repository, so that the fit and its tests need neither torch nor minutes.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from diffprof.prediction.workload import Workload, workload_of
from diffprof.record.profile import Profile
from diffprof.record.request import Request

FOLDER = Path(__file__).parent
FILE = FOLDER / "workloads.json.gz"
IMAGE_TO_IMAGE = " image-to-image"


def main() -> None:
    written = json.loads(gzip.decompress(FILE.read_bytes())) if FILE.exists() and "--again" not in sys.argv else {}
    with (FOLDER / "workloads.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["workload"] not in written:
                print(row["workload"], flush=True)  # noqa: T201
                profile = count(row["model"], row["dtype"], json.loads(row["arguments"]))
                written[row["workload"]] = encode(workload_of(profile))
                FILE.write_bytes(gzip.compress(json.dumps(written, separators=(",", ":")).encode(), 9, mtime=0))


def count(model: str, dtype: str, arguments: dict[str, Any]) -> Profile:
    """The profile of a model; of the image-to-image pipeline with its components where the name says so."""
    if model.endswith(IMAGE_TO_IMAGE):
        return count_image_to_image(model.removesuffix(IMAGE_TO_IMAGE), dtype, arguments)
    from diffprof.counting.request_profile import count_request

    return count_request(Request.create(model, arguments, dtype=dtype))


def count_image_to_image(model: str, dtype: str, arguments: dict[str, Any], enable: Sequence[str] = ()) -> Profile:
    """The profile of the image-to-image pipeline with a model's components; `enable` as in a request."""
    import diffusers
    from PIL import Image

    from diffprof.counting.profile import profile_pipeline
    from diffprof.pipelines.opening import open_virtual

    opened = open_virtual(model, dtype, None)
    name = type(opened.pipeline).__name__.replace("Pipeline", "Img2ImgPipeline")
    pipeline = getattr(diffusers, name)(**opened.pipeline.components)
    image = Image.new("RGB", (arguments.pop("width"), arguments.pop("height")))
    return profile_pipeline(
        pipeline,
        # Not switched on here: the components stay built, and the next count would have them as they were left.
        Request.create(name, {"prompt": "a cat", "image": image, "strength": 1.0, **arguments}, enable=enable),
    )


def encode(workload: Workload) -> dict[str, Any]:
    calls = [[*astuple(call)[:5], [list(load) for load in astuple(call)[5]]] for call in workload.calls]
    return {"steps": workload.steps, "calls": calls}


if __name__ == "__main__":
    main()
