"""Models with their weights, loaded once and kept in memory.

    manager = get_model_manager()
    pipe = manager.load_model("stabilityai/stable-diffusion-2-1-base")   # or a catalogue name, a folder, "shapes"
    manager.list_models()
    manager.unload_model("stabilityai/stable-diffusion-2-1-base")

A manager is thread-safe: a model is loaded by one thread, and `using` lets one thread at a time generate with it. When
`diffprof.config.MODEL_MEMORY_LIMIT` or the machine's memory is reached, models that are not in use are evicted, the
least recently used first.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import sys
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from diffprof import settings as config
from diffprof.catalogue.bundled_model import RECOMMENDED, SHAPES, is_bundled
from diffprof.catalogue.names import resolve
from diffprof.errors import DiffprofError, RequestError
from diffprof.generation.locks import pipeline_lock
from diffprof.pipelines.components import components_of, weight_bytes
from diffprof.pipelines.loading.free_memory import free_bytes
from diffprof.pipelines.loading.placement import Target, target_of
from diffprof.pipelines.loading.weights import LoadedPipeline, load_pipeline
from diffprof.record.progress import Progress, ProgressCallback
from diffprof.render import numbers
from diffprof.render.progress import describe_to
from diffprof.settings.limits import dtype_name

_LOCK = threading.Lock()
_C_LIBRARY = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Model:
    """The model that a model id refers to."""

    model_id: str
    name: str
    """A short name that is valid in file names."""
    title: str
    """The name to display: ``Stable Diffusion 2.1 base``."""
    place: str | Path
    """Where it is loaded from: the name of a known model, a hub id or a folder."""
    recommended: dict[str, Any] = field(default_factory=dict)
    """Call arguments that its authors recommend, if they differ from the pipeline's defaults."""


@dataclass(frozen=True)
class LoadedModel:
    """A loaded model, as `ModelManager.list_models` describes it."""

    model_id: str
    """The model id with which it was loaded."""
    name: str
    pipeline: str
    device: str
    dtype: str | None
    offload: str | None
    weight_bytes: int
    load_seconds: float
    in_use: bool


@dataclass(eq=False)
class CacheEntry:
    """A loaded model, and the threads that use it."""

    model: Model
    loaded: LoadedPipeline
    offload: str | None
    weight_bytes: int
    users: list[int] = field(default_factory=list)
    """The threads that use it."""
    last_used: int = 0
    fitting_sizes: set[Any] = field(default_factory=set)
    """Image sizes that are known to fit into memory together with the weights."""

    @property
    def pipeline(self) -> Any:
        return self.loaded.pipeline


class ModelManager:
    """Loads models and keeps them in memory. Defaults are read from `diffprof.config` when a model is requested."""

    def __init__(
        self,
        *,
        device: str | None = None,
        dtype: str | None = None,
        offload: str | None = None,
        memory_limit: int | None = None,
    ) -> None:
        self._device, self._dtype, self._offload, self._limit = device, dtype, offload, memory_limit
        self._entries: dict[_Key, CacheEntry] = {}
        self._changed = threading.Condition()
        """Guards all fields, and notifies waiting threads when a model is no longer used or loaded."""
        self._loading = self._waits_for_memory = False
        self._clock = itertools.count(1)

    def load_model(
        self,
        model_id: str | Path,
        *,
        device: str | None = None,
        dtype: str | None = None,
        offload: str | None = None,
        progress: ProgressCallback | None = None,
    ) -> Any:
        """Return the pipeline of a catalogue name, a hub id, a folder or ``shapes``, loading it if necessary."""
        events = describe_to(progress)
        with self.using(model_id, device=device, dtype=dtype, offload=offload, progress=events, alone=False) as entry:
            return entry.pipeline

    @contextlib.contextmanager
    def using(
        self,
        model_id: str | Path,
        *,
        device: str | None = None,
        dtype: str | None = None,
        offload: str | None = None,
        progress: Progress | None = None,
        alone: bool = True,
    ) -> Iterator[CacheEntry]:
        """Use a model, loading it if necessary; with `alone`, no other thread can use it meanwhile."""
        key, model = self._resolve(model_id, device, dtype, offload)
        entry = self._acquire(key) or self._load(key, model, progress)
        try:
            with pipeline_lock(entry.pipeline) if alone else contextlib.nullcontext():
                yield entry
        finally:
            self._release(key, entry)

    def find_loaded(
        self, model_id: str | Path, *, device: str | None = None, dtype: str | None = None, offload: str | None = None
    ) -> CacheEntry | None:
        """The model, if it is loaded."""
        with self._changed:
            return self._entries.get(self._resolve(model_id, device, dtype, offload)[0])

    def list_models(self) -> tuple[LoadedModel, ...]:
        """The loaded models, the most recently used first."""
        with self._changed:
            recent_first = sorted(self._entries.values(), key=lambda entry: -entry.last_used)
            return tuple(
                LoadedModel(
                    model_id=entry.model.model_id,
                    name=entry.model.name,
                    pipeline=type(entry.pipeline).__name__,
                    device=entry.loaded.device,
                    dtype=entry.loaded.opened.dtype,
                    offload=entry.offload,
                    weight_bytes=entry.weight_bytes,
                    load_seconds=entry.loaded.seconds,
                    in_use=bool(entry.users),
                )
                for entry in recent_first
            )

    def unload_model(self, model_id: str | Path) -> bool:
        """Unload a model in all dtypes and on all devices, and free its memory; False if it was not loaded.

        If a thread is generating with it, its memory is freed afterwards. A pipeline that `load_model` returned stays
        alive as long as the caller refers to it.
        """
        place = str(model_of(model_id).place)
        with self._changed:
            keys = [key for key in self._entries if key.place == place]
            for key in keys:
                del self._entries[key]
            self._changed.notify_all()
        release_memory()
        return bool(keys)

    def unload_all(self) -> None:
        """Unload all models."""
        with self._changed:
            self._entries.clear()
            self._changed.notify_all()
        release_memory()

    @property
    def memory_limit(self) -> int | None:
        """The maximum bytes of weights to keep in memory; None for no limit but the machine's."""
        return self._limit if self._limit is not None else config.MODEL_MEMORY_LIMIT

    def target(self, device: str | None = None, offload: str | None = None) -> Target:
        """The device and the kind of offload for a model that is requested with these options."""
        return target_of(device or self._device or config.DEVICE, offload or self._offload or config.OFFLOAD)

    def dtype(self, dtype: str | None = None) -> str | None:
        """The dtype for a model that is requested with this option; None for the model's own."""
        chosen = dtype or self._dtype or config.DTYPE
        return dtype_name(chosen)

    def _resolve(
        self, model_id: str | Path, device: str | None, dtype: str | None, offload: str | None
    ) -> tuple[_Key, Model]:
        model, target = model_of(model_id), self.target(device, offload)
        return _Key(str(model.place), str(target.device), self.dtype(dtype), target.offload), model

    def _acquire(self, key: _Key) -> CacheEntry | None:
        with self._changed:
            entry = self._entries.get(key)
            if entry is not None:
                entry.users.append(threading.get_ident())
                entry.last_used = next(self._clock)
            return entry

    def _load(self, key: _Key, model: Model, progress: Progress | None) -> CacheEntry:
        with self._wait_to_load(model.name):
            entry = self._acquire(key)
            if entry is not None:
                return entry
            loaded = load_pipeline(
                model.place,
                device=key.device,
                dtype=key.dtype,
                offload=key.offload,
                progress=progress,
                free_memory=lambda needed: self._free_memory(model.name, needed, torch.device(key.device)),
            )
            weights = sum(weight_bytes(part) for part in components_of(loaded.pipeline).values())
            with self._changed:
                # Marked as used immediately, because another thread may unload it at any moment.
                entry = CacheEntry(model, loaded, key.offload, weights, [threading.get_ident()], next(self._clock))
                self._entries[key] = entry
            return entry

    @contextlib.contextmanager
    def _wait_to_load(self, name: str) -> Iterator[None]:
        """Load one model at a time, because two threads would both count on the same free memory."""
        with self._changed:
            while self._loading:
                if self._waits_for_memory:
                    self._refuse_deadlock(name)
                self._changed.wait()
            self._loading = True
        try:
            yield
        finally:
            with self._changed:
                self._loading = False
                self._changed.notify_all()

    def _free_memory(self, name: str, needed: int, device: torch.device) -> None:
        """Evict models that are not in use, and wait for those that are, until `needed` bytes of weights fit."""
        limit = self.memory_limit
        if limit is not None and needed > limit:
            raise RequestError(
                f"{name} has {numbers.gigabytes(needed)} of weights, more than the limit of "
                f"{numbers.gigabytes(limit)}; raise model_memory_limit or use a smaller dtype"
            )
        while limit is not None and self._loaded_bytes() + needed > limit:
            if not self._evict_one():
                self._wait_for_others(name, limit - needed)
        while _lacks_memory(needed, device) and self._evict_one():
            pass

    def _loaded_bytes(self) -> int:
        with self._changed:
            return sum(entry.weight_bytes for entry in self._entries.values())

    def _evict_one(self) -> bool:
        """Unload the least recently used model that is not in use; False if all are in use."""
        with self._changed:
            idle = {key: entry for key, entry in self._entries.items() if not entry.users}
            if idle:
                del self._entries[min(idle, key=lambda key: idle[key].last_used)]
        # Its memory can only be freed after the last reference is gone.
        evicted = bool(idle)
        idle.clear()
        if evicted:
            release_memory()
        return evicted

    def _wait_for_others(self, name: str, most: int) -> None:
        """Wait until a model is released, or until at most `most` bytes are in use."""
        with self._changed:
            self._refuse_deadlock(name)
            self._waits_for_memory = True
            self._changed.notify_all()
            try:
                self._changed.wait_for(
                    lambda: any(not entry.users for entry in self._entries.values()) or self._loaded_bytes() <= most
                )
            finally:
                self._waits_for_memory = False

    def _refuse_deadlock(self, name: str) -> None:
        """Raise an error if this thread itself uses a model: waiting for memory could then take forever."""
        if any(threading.get_ident() in entry.users for entry in self._entries.values()):
            raise DiffprofError(
                f"there is no memory left for {name}: the models in use fill the limit of "
                f"{numbers.gigabytes(self.memory_limit or 0)}; raise model_memory_limit or use one after the other"
            )

    def _release(self, key: _Key, entry: CacheEntry) -> None:
        with self._changed:
            entry.users.remove(threading.get_ident())
            unloaded = not entry.users and self._entries.get(key) is not entry
            self._changed.notify_all()
        if unloaded:
            # It was unloaded while in use. Only this frame and the caller's still refer to it.
            weakref.finalize(entry, release_memory)


@dataclass(frozen=True)
class _Key:
    """The key of a loaded model: each dtype and device is loaded separately."""

    place: str
    device: str
    dtype: str | None
    offload: str | None


_manager: ModelManager | None = None


def get_model_manager() -> ModelManager:
    """The manager of this process."""
    global _manager
    with _LOCK:
        if _manager is None:
            _manager = ModelManager()
        return _manager


def model_of(model_id: str | Path) -> Model:
    """Find the model with this id; a `RequestError` suggests others if there is none."""
    given, resolved = str(model_id), resolve(model_id)
    if is_bundled(model_id):
        return Model(given, SHAPES, SHAPES, SHAPES, dict(RECOMMENDED))
    entry, folder = resolved.entry, resolved.folder.absolute() if resolved.folder else None
    if entry is not None:
        return Model(given, entry.name, entry.title, folder or entry.name, dict(entry.recommended))
    name = folder.resolve().name if folder is not None else given.rpartition("/")[2]
    return Model(given, file_name(name), name, folder or given)


def release_memory() -> None:
    """Collect garbage, and return freed memory to the system and the device."""
    gc.collect()
    if torch.accelerator.is_available():
        # By module name, because torch before 2.9 has no `torch.accelerator.empty_cache`.
        torch.get_device_module(torch.accelerator.current_accelerator()).empty_cache()
    trim = getattr(_C_LIBRARY, "malloc_trim", None)
    if trim is not None:  # glibc does not return freed memory to the system by itself
        trim(0)


def _lacks_memory(needed: int, device: torch.device) -> bool:
    free = free_bytes(device)
    return free is not None and free < needed


def file_name(name: str) -> str:
    """The last part of a model's name, with unusual characters replaced, for use in a file name."""
    name = name.rstrip("/").rpartition("/")[2]
    safe = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-" for letter in name)
    return safe.strip(".-")[:80] or "model"
