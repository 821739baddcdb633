"""Models with their weights, loaded once and kept for whoever needs them.

    manager = get_model_manager()
    pipe = manager.load_model("stabilityai/stable-diffusion-2-1-base")   # or a catalogue name, a folder, "shapes"
    manager.list_models()
    manager.unload_model("stabilityai/stable-diffusion-2-1-base")

Any number of threads may use one manager. A model is loaded by one of them, and `using` lets one at a time generate
with it. Where `diffprof.config.MODEL_MEMORY_LIMIT` or the machine's memory is reached, models that nobody uses leave,
those that were not used for longest first.
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
from diffprof.catalogue.names import resolve
from diffprof.catalogue.on_board import RECOMMENDED, SHAPES, is_on_board
from diffprof.errors import DiffprofError, RequestError
from diffprof.pipelines.components import components_of, weight_bytes
from diffprof.pipelines.free_memory import free_bytes
from diffprof.pipelines.placement import Target, target_of
from diffprof.pipelines.weights import LoadedPipeline, load_pipeline
from diffprof.record.progress import Progress, ProgressCallback
from diffprof.render import numbers
from diffprof.render.progress import describe_to
from diffprof.settings.limits import dtype_name


@dataclass(frozen=True)
class Model:
    """What a model id stands for."""

    model_id: str
    name: str
    """Short, and fit for a file name."""
    title: str
    """For people: ``Stable Diffusion 2.1 base``."""
    place: str | Path
    """What it is loaded from: the name of a known model, a hub id or a folder."""
    recommended: dict[str, Any] = field(default_factory=dict)
    """Call arguments that its makers use where they differ from the pipeline's own defaults."""


@dataclass(frozen=True)
class LoadedModel:
    """A model that is held."""

    model_id: str
    """As it was asked for when it was loaded."""
    name: str
    pipeline: str
    device: str
    dtype: str | None
    offload: str | None
    weight_bytes: int
    load_seconds: float
    in_use: bool


@dataclass(eq=False)
class Held:
    """A model with its weights."""

    model: Model
    loaded: LoadedPipeline
    offload: str | None
    weight_bytes: int
    users: list[int] = field(default_factory=list)
    """The threads that use it."""
    last_used: int = 0
    fitting: set[Any] = field(default_factory=set)
    """Sizes of pictures that were found to fit beside the weights."""

    @property
    def pipeline(self) -> Any:
        return self.loaded.pipeline


class ModelManager:
    """Loads models and keeps them. What is not given is what `diffprof.config` says when a model is asked for."""

    def __init__(
        self,
        *,
        device: str | None = None,
        dtype: str | None = None,
        offload: str | None = None,
        memory_limit: int | None = None,
    ) -> None:
        self._device, self._dtype, self._offload, self._limit = device, dtype, offload, memory_limit
        self._held: dict[_Key, Held] = {}
        self._changed = threading.Condition()
        """Guards what is held, and tells when somebody stops using a model."""
        self._loading = self._short_of_room = False
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
        """The pipeline of a catalogue name, a hub id, a folder or ``shapes``; loaded where it is not held yet."""
        events = describe_to(progress)
        with self.using(model_id, device=device, dtype=dtype, offload=offload, progress=events, alone=False) as held:
            return held.pipeline

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
    ) -> Iterator[Held]:
        """Hold a model while it is used, loaded where it is not held yet; with `alone`, keep all others from it."""
        key, model = self._asked(model_id, device, dtype, offload)
        held = self._taken(key) or self._loaded(key, model, progress)
        try:
            with lock_of(held.pipeline) if alone else contextlib.nullcontext():
                yield held
        finally:
            self._returned(key, held)

    def holds(
        self, model_id: str | Path, *, device: str | None = None, dtype: str | None = None, offload: str | None = None
    ) -> Held | None:
        """The model, if it is loaded."""
        with self._changed:
            return self._held.get(self._asked(model_id, device, dtype, offload)[0])

    def list_models(self) -> tuple[LoadedModel, ...]:
        """What is held, the model that was used last first."""
        with self._changed:
            held = sorted(self._held.values(), key=lambda one: -one.last_used)
            return tuple(
                LoadedModel(
                    model_id=one.model.model_id,
                    name=one.model.name,
                    pipeline=type(one.pipeline).__name__,
                    device=one.loaded.device,
                    dtype=one.loaded.opened.dtype,
                    offload=one.offload,
                    weight_bytes=one.weight_bytes,
                    load_seconds=one.loaded.seconds,
                    in_use=bool(one.users),
                )
                for one in held
            )

    def unload_model(self, model_id: str | Path) -> bool:
        """Let go of a model in all its forms, and of its memory; False when it was not held.

        Where somebody is generating with it, its memory is free when they are done. A pipeline that `load_model` gave
        to the caller stays as long as the caller keeps it.
        """
        place = str(model_of(model_id).place)
        with self._changed:
            leaving = [key for key in self._held if key.place == place]
            for key in leaving:
                del self._held[key]
            self._changed.notify_all()
        give_memory_back()
        return bool(leaving)

    def unload_all(self) -> None:
        """Let go of all models."""
        with self._changed:
            self._held.clear()
            self._changed.notify_all()
        give_memory_back()

    @property
    def memory_limit(self) -> int | None:
        """Bytes of weights that are held at most; None for no limit but the machine's."""
        return self._limit if self._limit is not None else config.MODEL_MEMORY_LIMIT

    def target(self, device: str | None = None, offload: str | None = None) -> Target:
        """Where a model is put when it is asked for like this."""
        return target_of(device or self._device or config.DEVICE, offload or self._offload or config.OFFLOAD)

    def dtype(self, dtype: str | None = None) -> str | None:
        """The dtype in which a model is loaded when it is asked for like this; None for the model's own."""
        chosen = dtype or self._dtype or config.DTYPE
        return dtype_name(chosen)

    def _asked(
        self, model_id: str | Path, device: str | None, dtype: str | None, offload: str | None
    ) -> tuple[_Key, Model]:
        model, target = model_of(model_id), self.target(device, offload)
        return _Key(str(model.place), str(target.device), self.dtype(dtype), target.offload), model

    def _taken(self, key: _Key) -> Held | None:
        with self._changed:
            held = self._held.get(key)
            if held is not None:
                held.users.append(threading.get_ident())
                held.last_used = next(self._clock)
            return held

    def _loaded(self, key: _Key, model: Model, progress: Progress | None) -> Held:
        with self._turn_to_load(model.name):
            held = self._taken(key)
            if held is not None:
                return held
            loaded = load_pipeline(
                model.place,
                device=key.device,
                dtype=key.dtype,
                offload=key.offload,
                progress=progress,
                free_memory=lambda needed: self._make_room(model.name, needed, torch.device(key.device)),
            )
            weights = sum(weight_bytes(part) for part in components_of(loaded.pipeline).values())
            with self._changed:
                # In use from the first moment: another thread may unload it in the next.
                held = Held(model, loaded, key.offload, weights, [threading.get_ident()], next(self._clock))
                self._held[key] = held
            return held

    @contextlib.contextmanager
    def _turn_to_load(self, name: str) -> Iterator[None]:
        """One at a time: whether a model fits is found out before it is loaded, and two would find the same room."""
        with self._changed:
            while self._loading:
                if self._short_of_room:
                    self._refuse_who_uses_one(name)
                self._changed.wait()
            self._loading = True
        try:
            yield
        finally:
            with self._changed:
                self._loading = False
                self._changed.notify_all()

    def _make_room(self, name: str, needed: int, device: torch.device) -> None:
        limit = self.memory_limit
        if limit is not None and needed > limit:
            raise RequestError(
                f"{name} has {numbers.gigabytes(needed)} of weights, more than the limit of "
                f"{numbers.gigabytes(limit)}; raise model_memory_limit or use a smaller dtype"
            )
        while limit is not None and self._held_bytes() + needed > limit:
            if not self._one_left():
                self._wait_for_others(name, limit - needed)
        while _is_short(needed, device) and self._one_left():
            pass

    def _held_bytes(self) -> int:
        with self._changed:
            return sum(held.weight_bytes for held in self._held.values())

    def _one_left(self) -> bool:
        """Let go of the model that nobody has used for longest; False when all are in use."""
        with self._changed:
            idle = {key: held for key, held in self._held.items() if not held.users}
            if idle:
                del self._held[min(idle, key=lambda key: idle[key].last_used)]
        # The last references to it must go before its memory can.
        found = bool(idle)
        idle.clear()
        if found:
            give_memory_back()
        return found

    def _wait_for_others(self, name: str, most: int) -> None:
        """Until somebody stops using a model, or no more than `most` bytes are held."""
        with self._changed:
            self._refuse_who_uses_one(name)
            self._short_of_room = True
            self._changed.notify_all()
            try:
                self._changed.wait_for(
                    lambda: any(not held.users for held in self._held.values()) or self._held_bytes() <= most
                )
            finally:
                self._short_of_room = False

    def _refuse_who_uses_one(self, name: str) -> None:
        """Who uses a model and waits for room, or for somebody who waits for room, could wait for ever."""
        if any(threading.get_ident() in held.users for held in self._held.values()):
            raise DiffprofError(
                f"there is no room for {name}: the models in use fill the limit of "
                f"{numbers.gigabytes(self.memory_limit or 0)}; raise model_memory_limit or use one after the other"
            )

    def _returned(self, key: _Key, held: Held) -> None:
        with self._changed:
            held.users.remove(threading.get_ident())
            gone = not held.users and self._held.get(key) is not held
            self._changed.notify_all()
        if gone:
            # It was unloaded while it was in use. This frame and the caller's still know it: they end in a moment.
            weakref.finalize(held, give_memory_back)


@dataclass(frozen=True)
class _Key:
    """The same model in another dtype, or on another device, is another one."""

    place: str
    device: str
    dtype: str | None
    offload: str | None


def get_model_manager() -> ModelManager:
    """The one manager of this process."""
    global _MANAGER
    with _LOCK:
        if _MANAGER is None:
            _MANAGER = ModelManager()
        return _MANAGER


def model_of(model_id: str | Path) -> Model:
    """What the id stands for; a `RequestError` says that there is no such model, and what was perhaps meant."""
    given, resolved = str(model_id), resolve(model_id)
    if is_on_board(model_id):
        return Model(given, SHAPES, SHAPES, SHAPES, dict(RECOMMENDED))
    entry, folder = resolved.entry, resolved.folder.absolute() if resolved.folder else None
    if entry is not None:
        return Model(given, entry.name, entry.title, folder or entry.name, dict(entry.recommended))
    name = folder.resolve().name if folder is not None else given.rpartition("/")[2]
    return Model(given, for_files(name), name, folder or given)


def lock_of(pipeline: Any) -> threading.RLock:
    """The lock that whoever generates with this pipeline holds: its scheduler and its hooks know one call at a time."""
    with _LOCK:
        return _LOCKS.setdefault(pipeline, threading.RLock())


def give_memory_back() -> None:
    """Have what nobody refers to any more freed, and return it to the system and the device."""
    gc.collect()
    if torch.accelerator.is_available():
        # By its own name: torch before 2.9 has no `torch.accelerator.empty_cache`.
        torch.get_device_module(torch.accelerator.current_accelerator()).empty_cache()
    trim = getattr(_C_LIBRARY, "malloc_trim", None)
    if trim is not None:  # only glibc keeps what was freed, and can be told not to
        trim(0)


def _is_short(needed: int, device: torch.device) -> bool:
    free = free_bytes(device)
    return free is not None and free < needed


def for_files(name: str) -> str:
    """The last part of the name, with nothing in it that a file name should not have."""
    name = name.rstrip("/").rpartition("/")[2]
    kept = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-" for letter in name)
    return kept.strip(".-")[:80] or "model"


_LOCK = threading.Lock()
_MANAGER: ModelManager | None = None
_LOCKS: weakref.WeakKeyDictionary[Any, threading.RLock] = weakref.WeakKeyDictionary()
_C_LIBRARY = ctypes.CDLL(None) if sys.platform == "linux" else None
