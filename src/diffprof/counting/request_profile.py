"""The profile of a request: from a law of its model, from the disk cache, or by counting."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from diffprof import catalogue
from diffprof.catalogue.names import Place, ResolvedModel, resolve
from diffprof.catalogue.recommended_settings import add_recommended
from diffprof.counting.formulas.registry import registered_operations
from diffprof.counting.garbage_collection import freeze_existing_objects, no_garbage_collection
from diffprof.counting.process_settings import process_settings
from diffprof.errors import needs_torch
from diffprof.laws.programs import OutsideOfLaw
from diffprof.laws.selection import can_count, profile_by_law, refusal
from diffprof.record import cache
from diffprof.record.changes import Changes
from diffprof.record.inputs import plain_input
from diffprof.record.profile import Profile
from diffprof.record.progress import Activity, Progress, ProgressEvent
from diffprof.record.request import Request
from diffprof.settings.work_limits import work_limits


def count_request(request: Request, use_cache: bool = True, progress: Progress | None = None) -> Profile:
    """Return the profile of the request; torch is imported only if it has to be counted.

    A law gives the same result as a count, for the requests that it was proved for.
    """
    resolved = resolve(request.model)
    request = add_recommended(request, resolved)
    own_formulas = registered_operations()  # known only in this process
    if not request.count and not own_formulas:
        try:
            return profile_by_law(request, resolved)
        except OutsideOfLaw as error:
            if not can_count():
                raise refusal(error) from None
    key = _key(request, resolved) if use_cache and not own_formulas else None
    cached_profile = cache.read(key) if key else None
    if cached_profile is not None:
        return cached_profile
    with needs_torch("Counting a model"):
        profile = _count(request, progress)
    if use_cache and not own_formulas:
        # Opening a hub id may have downloaded files: the key is that of the files which were counted.
        key = _key(request, resolved) if resolved.place is Place.hub else key
        if key:
            cache.write(key, profile)
    return profile


def _count(request: Request, progress: Progress | None) -> Profile:
    if progress is not None:
        # Before the libraries are imported, which takes seconds.
        progress(ProgressEvent(Activity.opening, str(request.model)))
    is_first = "diffprof.counting.profile" not in sys.modules
    with no_garbage_collection():
        # Before the limits are set: the memory of the libraries does not count as the model's.
        from diffprof.counting.bounded_work import within_limits

        if request.component is not None:
            from diffprof.counting.module_call import profile_component as count
        else:
            from diffprof.counting.profile import profile_model as count
        with within_limits(str(request.model), work_limits()):
            profile = count(request, progress)
        if is_first:
            freeze_existing_objects()
    return profile


def _key(request: Request, resolved: ResolvedModel) -> str | None:
    """The key of the request in the cache; None if it cannot be cached."""
    # Every field is part of the key, including those that are added later.
    values = {
        field.name: getattr(request, field.name) for field in fields(request) if field.name not in ("model", "count")
    }
    values |= {
        "enable": list(request.enable),
        "recommended": list(request.recommended),
        "arguments": {name: plain_input(value) for name, value in request.arguments.items()},
        "preparation": asdict(request.preparation),
    }
    values["changes"] = {**request.changes.non_empty, "files": _file_states(request.changes)}
    if not _is_json(values):
        return None
    values["config"] = _config_content(request.config)
    content = _content(resolved)
    return None if content is None else cache.key(resolved.name, content, {**values, **process_settings()})


def _file_states(changes: Changes) -> dict[str, list[int]]:
    """Return size and time of the files that changes name: another file under the same name is another request."""
    states = {}
    for name in (*changes.lora, *changes.controlnet):
        for file in (Path(name), Path(name) / "config.json", Path(name) / "pytorch_lora_weights.safetensors"):
            if file.is_file():
                states[str(file)] = [file.stat().st_size, file.stat().st_mtime_ns]
    return states


def _is_json(value: Any) -> bool:
    """Whether JSON preserves the value: a tensor has no JSON, and a tuple would become a list."""
    if type(value) is dict:
        return all(type(name) is str and _is_json(item) for name, item in value.items())
    if type(value) is list:
        return all(map(_is_json, value))
    return value is None or type(value) in (str, int, float, bool)


def _config_content(config: str | None) -> str | None:
    """Return the contents of the configuration of a weight file, if it comes from another model."""
    content = None if config is None else _content(resolve(config))
    return None if config is None else f"{config} {content.hex() if content else ''}"


def _content(resolved: ResolvedModel) -> bytes | None:
    """Return the model's configuration that the profile depends on; None if it is not on this machine."""
    if resolved.file is not None:
        # The header identifies a model of the catalogue, so the profile depends on the catalogue too.
        known = [catalogue.content(entry.name) or b"" for entry in catalogue.entries()]
        return cache.digest_of_file(resolved.file) + hashlib.sha256(b"".join(known)).digest()
    if resolved.place is Place.catalogue:
        return catalogue.content(resolved.name)
    folder = _hub_snapshot(resolved.name) if resolved.place is Place.hub else resolved.folder
    own = catalogue.content(resolved.name) if resolved.entry and resolved.entry.path else b""
    try:
        found = cache.digest_of_folder(folder) if folder is not None and folder.is_dir() else None
        return None if found is None else found + (own or b"")
    except OSError:
        # The engine reports files that cannot be read.
        return None


def _hub_snapshot(hub_id: str) -> Path | None:
    """Return the folder of a repository in the cache of huggingface_hub, without importing that library."""
    # Not Path.home(), which fails for a user without a home folder.
    own = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    home = os.environ.get("HF_HOME") or own / "huggingface"
    try:
        hub = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()
    except RuntimeError:
        return None  # without a home folder there is no cache
    repository = hub / f"models--{hub_id.replace('/', '--')}"
    try:
        commit = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    snapshot = repository / "snapshots" / commit
    return snapshot if commit and snapshot.is_dir() else None
