"""What a history of 100,000 runs takes to answer: ``python -m benchmarks.history`` prints seconds as JSON.

Twelve models on four devices over three years, all numbers of each run different. Only the last two have whole
profiles, which `show` and `compare` read. Every answer opens the store anew, as a command does. The best of several
times counts: what else the machine does can only add to it.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from tests.sample_profiles import stable_diffusion

from benchmarks.processes import run
from diffprof.breakdown.trends import trend_table
from diffprof.comparison import compare
from diffprof.record.history import Filters, History, rows
from diffprof.record.history.filters import timestamp
from diffprof.record.history.store import Store

RUNS = 100_000
REPEATS = 7
BEGAN = datetime(2023, 1, 1, tzinfo=timezone.utc)
DEVICES = (("Xeon", "cpu"), ("NVIDIA A100-SXM4-80GB", "cuda"), ("NVIDIA H100 80GB HBM3", "cuda"), ("Apple M3", "mps"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.sqlite"
        fill(path)
        history = History(path)
        one, two = (history.add(stable_diffusion(steps=steps), "profile") for steps in (20, 30))
        answers: dict[str, Callable[[], object]] = {
            "list": lambda: (history.find(), history.count()),
            "last page": lambda: history.find(offset=RUNS - 50),
            "list by time": lambda: history.find(order="wall_seconds"),
            "filter": lambda: _both(history, Filters(model="model-3", device="cuda", dtype="float16")),
            "filter by tag": lambda: _both(history, Filters(tag="baseline", kind="run")),
            "search": lambda: _both(history, Filters(text="a cat on chair 77,777")),
            "trend": lambda: trend_table(history.trend("wall_seconds", limit=20)),
            "trend of everything": lambda: trend_table(history.trend("peak_memory_bytes")),
            "trend of one model": lambda: trend_table(history.trend("macs", Filters(model="model-3"))),
            "show": lambda: (history.get_run(two), history.get(two)),
            "compare": lambda: compare([history.get(one), history.get(two)], ["one", "two"]),
            "tag": lambda: _tag_and_untag(history, one),
            "prune, dry run": lambda: history.prune(keep=RUNS - 100, dry_run=True),
        }
        seconds: dict[str, list[float]] = {name: [] for name in answers}
        for _ in range(REPEATS):
            for name, answer in answers.items():
                seconds[name].append(_seconds(answer))
        results = {name: min(taken) for name, taken in seconds.items()}
        command = ("-m", "diffprof", "history", "list")
        results["command"] = min(run(command, {"DIFFPROF_HISTORY": str(path)}).seconds for _ in range(REPEATS))
        results["export"] = min(_seconds(lambda: history.export(Path(folder) / "runs.csv")) for _ in range(2))
        results["prune"] = _seconds(lambda: history.prune(keep=RUNS - 100))
        print(json.dumps({**results, "bytes": os.path.getsize(path)}))  # noqa: T201, PTH202


def fill(path: Path) -> None:
    """All runs in one transaction: what is measured is reading."""
    chance = random.Random(0)

    def work(connection: Any) -> None:
        for number in range(RUNS):
            rows.insert(connection, _values(number, chance), b"small", ["baseline"] if number % 1000 == 0 else [])

    Store(path).write(work)


def _values(number: int, chance: random.Random) -> dict[str, Any]:
    device, kind = chance.choice(DEVICES)
    model, steps = f"model-{chance.randrange(12)}", chance.choice((4, 20, 30, 50))
    return {
        "created_at": timestamp(BEGAN + timedelta(minutes=15 * number)),
        "kind": chance.choice(("profile", "run", "generate")),
        "model": model,
        "pipeline": "StableDiffusionPipeline",
        "device": device,
        "device_kind": kind,
        "dtype": chance.choice(("float16", "bfloat16", "float32")),
        "height": 512,
        "width": 512,
        "frames": None,
        "steps": steps,
        "macs": chance.randrange(10**12, 10**15),
        "parameters": chance.randrange(10**8, 10**10),
        "iterations": 3,
        "wall_seconds": 10 * chance.random(),
        "peak_memory_bytes": chance.randrange(10**9, 10**11),
        "request": f"{hash((model, steps)) & 0xFFFFFFFFFFFFFFFF:016x}",
        "diffprof": "0.1.0",
        "python": "3.11.7",
        "torch": "2.13.0",
        "diffusers": "0.42.1",
        "transformers": "5.22.2",
        "words": f"{model} stablediffusionpipeline {device} a photo of a cat on chair {number:,}, studio light, 85 mm",
    }


def _tag_and_untag(history: History, run: int) -> None:
    history.tag(run, "seen")
    history.untag(run, "seen")


def _both(history: History, filters: Filters) -> object:
    return history.find(filters), history.count(filters)


def _seconds(answer: Callable[[], object]) -> float:
    begun = time.perf_counter()
    answer()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
