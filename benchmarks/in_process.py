"""Measures steps and resolutions inside one process: ``python -m benchmarks.in_process MODEL`` prints JSON.

The first profile of a process includes what a first use includes: importing the libraries and opening the model. Times
are seconds of this process's CPU, so that nothing else on the machine is measured; a dry run has one thread.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from statistics import median

from diffprof.counting.request_profile import count_request
from diffprof.record.request import Request

REPEATS = 5


def main(model: str) -> None:
    first = _seconds(model, height=512, width=512, num_inference_steps=30)
    second = _seconds(model, height=768, width=768, num_inference_steps=30)
    one, fifty = [], []
    for _ in range(REPEATS):
        one.append(_seconds(model, height=768, width=768, num_inference_steps=1))
        fifty.append(_seconds(model, height=768, width=768, num_inference_steps=50))
    results = {"first_size": first, "second_size": second, "one_step": median(one), "fifty_steps": median(fifty)}
    print(json.dumps(results))  # noqa: T201


def _seconds(model: str, **arguments: int) -> float:
    begun = time.process_time()
    count_request(replace(Request.create(model, arguments), count=True), use_cache=False)
    return time.process_time() - begun


if __name__ == "__main__":
    main(sys.argv[1])
