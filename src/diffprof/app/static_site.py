"""Write the static calculator: a page, scripts and laws that any web host can serve."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from diffprof import catalogue
from diffprof.advice.views.fit_charts import ACTIVATIONS, WEIGHTS, WORKSPACE, part_colours
from diffprof.app.calculator_data import calculator_constants, calculator_device
from diffprof.catalogue.accelerators import accelerators
from diffprof.catalogue.entry import Entry
from diffprof.catalogue.names import resolve
from diffprof.catalogue.recommended_settings import recommended_settings
from diffprof.errors import RequestError
from diffprof.laws.law import Law, guidance_class
from diffprof.laws.law_file import FOLDER as LAWS
from diffprof.laws.law_file import law_document, packaged_law
from diffprof.record.atomic_files import replace_file
from diffprof.version import __version__

PAGE = Path(__file__).parent / "calculator"
FIRST_MODEL, FIRST_DEVICE = "flux.1-dev", "rtx-4090"
SLIDERS = {
    "height": "height",
    "width": "width",
    "frames": "num_frames",
    "steps": "num_inference_steps",
    "batch": "num_images_per_prompt",
}
"""The sliders of the calculator, and the variable of a law that each sets."""

LARGEST_EXACT = 2**53
"""Larger integers in JSON are not exact in a browser, and are written as strings."""

GUIDANCE_ON = 5.0
SIDE_STEP = 16


def write_site(folder: Path, models: Sequence[str] | None = None) -> list[str]:
    """Write the calculator to a new or empty folder; returns the names of its models."""
    names = list(models or _models_with_laws())
    _check_folder(folder)
    (folder / "laws").mkdir(parents=True, exist_ok=True)
    entries = [_write_model(folder, name) for name in names]
    for file in sorted(PAGE.iterdir()):
        if file.suffix in (".html", ".css", ".js"):
            replace_file(folder / file.name, file.read_bytes())
    first = FIRST_MODEL if FIRST_MODEL in names else names[0]
    site = {
        "models": entries,
        "devices": [calculator_device(accelerator) for accelerator in accelerators()],
        "constants": calculator_constants(),
        "first_model": first,
        "first_device": FIRST_DEVICE,
        "about": f"Made by diffprof {__version__}. MACs and parameters are exact; memory and time are predictions.",
    }
    replace_file(folder / "site.json", _json_bytes(site))
    return names


def _models_with_laws() -> list[str]:
    return [entry.name for entry in catalogue.entries() if (LAWS / f"{entry.name}.law").is_file()]


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise RequestError(f"{folder} is not a folder; name a new one.")
    if folder.is_dir() and any(folder.iterdir()):
        raise RequestError(f"{folder} is not empty; name a new folder, or remove what is in it.")


def _write_model(folder: Path, name: str) -> dict[str, Any]:
    law = packaged_law(name)
    if law is None:
        raise RequestError(f"There is no law of {name}, which the calculator needs; leave it out.")
    replace_file(folder / "laws" / f"{name}.json", _json_bytes(law_document(law)))
    return model_entry(law)


def model_entry(law: Law) -> dict[str, Any]:
    """The data that the page needs about a model before it loads the model's law."""
    resolved = resolve(law.model)
    entry = resolved.entry
    recommended = {**law.defaults, **recommended_settings(resolved)}
    sources = {name: source for name, source in SLIDERS.items() if source in law.sources}
    numbers = {name: int(recommended[law.sources[source]] or 1) for name, source in sources.items()}
    scale = recommended.get(law.guidance) if law.guidance else None
    return {
        "name": law.model,
        "title": entry.title if entry is not None else law.model,
        "aliases": list(entry.names) if entry is not None else [],
        "colours": _colours(entry) if entry is not None else {},
        "file": f"{law.model}.json",
        "sources": sources,
        "sliders": {name: _slider(law, source) for name, source in sources.items()},
        "fixed": {source: _default(law, source) for source in law.sources if source not in sources.values()},
        "scale": scale,
        "guidance": _guidance(law, scale),
        "recommended": numbers if scale is None else {**numbers, "guidance": guidance_class(scale) == "above 1"},
    }


def _colours(entry: Entry) -> dict[str, str]:
    """The colours of the components and of activations, as on every other page."""
    weights = [f"{WEIGHTS}{slot}" for slot, part in entry.components.items() if part.parameters]
    colours = part_colours([*weights, ACTIVATIONS, WORKSPACE])
    return {name.removeprefix(WEIGHTS): colour for name, colour in colours.items()}


def _default(law: Law, source: str) -> int:
    return int(law.defaults[law.sources[source]])


def _slider(law: Law, source: str) -> dict[str, int]:
    """The range of a slider: the values for which the law was proved."""
    ranges = [domain.ranges[source] for domain in law.domains if source in domain.ranges]
    step = min(bounds.multiple for bounds in ranges)
    if source in ("height", "width"):
        step = max(step, SIDE_STEP)  # all models accept multiples of this
    return {
        "lowest": min(bounds.least for bounds in ranges),
        "highest": max(bounds.most for bounds in ranges),
        "step": step,
    }


def _guidance(law: Law, scale: float | None) -> dict[str, float] | None:
    """One scale with and one without guidance; None if guidance does not change what is computed."""
    groups = {domain.guidance for domain in law.domains if domain.guidance}
    if scale is None or len(groups) < 2:
        return None
    proved = [name for group in groups for name in group]
    off = 1.0 if "1" in proved else 0.0
    return {"on": scale if guidance_class(scale) == "above 1" else GUIDANCE_ON, "off": off}


def _json_bytes(value: Any) -> bytes:
    try:
        # Laws are millions of small integers: looking at each in Python takes longer than everything else.
        return orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER)
    except orjson.JSONEncodeError:  # an integer that is not exact in a browser, or a value of another type
        return json.dumps(_exact(value), separators=(",", ":"), ensure_ascii=False).encode()


def _exact(value: Any) -> Any:
    """Convert integers that a browser would round to strings."""
    if isinstance(value, Mapping):
        return {name: _exact(part) for name, part in value.items()}
    if isinstance(value, str) or not isinstance(value, Iterable):
        is_large = isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST_EXACT
        return str(value) if is_large else value
    return [_exact(part) for part in value]
