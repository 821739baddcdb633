"""Counts the requests that advice about catalogue models makes and no law answers, and keeps them in the package.

    python -m calibration.record_requests [MODEL ...]

Without names, models whose requests are all kept are skipped. One process does a few models, so that libraries are
imported once for them and none keeps the memory of many.
"""

from __future__ import annotations

import subprocess
import sys
import time

from diffprof import catalogue
from diffprof.advice.alternatives import request_alternatives
from diffprof.advice.fit_changes import TILING
from diffprof.catalogue.names import resolve
from diffprof.catalogue.recommended_settings import add_recommended
from diffprof.errors import DiffprofError
from diffprof.laws.law_file import ENDING, RECORDED, packaged_law, recorded_law, write_law
from diffprof.record.request import Request

HERE = "--here"
MODELS_OF_A_PROCESS = 4


def main() -> None:
    names = [argument for argument in sys.argv[1:] if argument != HERE]
    if HERE in sys.argv:
        for name in names:
            record(name)
        return
    wanted = names or [entry.name for entry in catalogue.entries() if recorded_law(entry.name) is None]
    for place in range(0, len(wanted), MODELS_OF_A_PROCESS):
        part = wanted[place : place + MODELS_OF_A_PROCESS]
        subprocess.run([sys.executable, "-m", "calibration.record_requests", HERE, *part], check=False)


def record(name: str) -> None:
    """Write the file of one model."""
    from diffprof.counting.derivation.recorded_requests import record_requests

    begun = time.process_time()
    RECORDED.mkdir(exist_ok=True)
    try:
        law = record_requests(name, [*advised_requests(name), *common_requests(name)])
    except (DiffprofError, RecursionError, MemoryError) as error:
        outcome = str(error)
    else:
        path = RECORDED / f"{name}{ENDING}"
        write_law(law, path)
        outcome = f"{len(law.programs)} requests, {path.stat().st_size:,} bytes"
    print(f"{name}: {time.process_time() - begun:.0f} s: {outcome}", flush=True)  # noqa: T201


def advised_requests(name: str) -> list[Request]:
    """What advice asks of the model with its recommended settings: each alternative alone, and together with tiles."""
    from diffprof.counting.request_profile import count_request

    plain = add_recommended(Request.create(name))
    profile = count_request(plain)
    requests = [plain]
    ways = [part for part in request_alternatives(profile, plain) if part.rewrite is not None and part.group != "dtype"]
    requests += [part.rewrite(plain) for part in ways if part.rewrite is not None]
    tiled = [part.rewrite for part in ways if part.group == TILING]
    requests += [
        rewrite(request) for rewrite in tiled if rewrite for request in requests[1:] if TILING not in request.enable
    ]
    return [request for request in requests if not _is_answered(request)]


COMMON = {
    "flux.1-dev": [
        *({"height": side, "width": side} for side in (256, 320, 384)),
        *({"num_images_per_prompt": number} for number in (2, 3, 8)),
    ],
    "flux.1-schnell": [{"num_images_per_prompt": number} for number in (2, 3, 8)],
    "wan2.1-t2v-14b": [{"height": 480, "width": 832, "num_frames": number} for number in (33, 49, 81)],
}
"""What people ask of well known models, and their laws leave out."""


def common_requests(name: str) -> list[Request]:
    """These requests with the recommended settings, as far as no law answers them."""
    requests = [add_recommended(Request.create(name, arguments)) for arguments in COMMON.get(name, ())]
    return [request for request in requests if not _is_answered(request)]


def _is_answered(request: Request) -> bool:
    """Whether the law of the model says it."""
    law = packaged_law(resolve(request.model).name)
    try:
        return law is not None and law.profile(request) is not None
    except DiffprofError:
        return False


if __name__ == "__main__":
    main()
