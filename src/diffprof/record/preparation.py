"""How a loaded pipeline is prepared for its calls: files, compilation, devices and ranks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from diffprof.errors import RequestError

COMPILE_MODES = ("whole", "regional")
"""Compile every denoiser as a whole, or each of its repeated blocks, which compiles many times faster."""

PARALLEL_MODES = ("ulysses", "ring", "tensor")
"""Split attention by heads or by keys, which can be combined, or split weights over ranks."""

EVERY = "*"
BALANCED = "balanced"
MAX_RANKS = 1024
_FILE_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


@dataclass(frozen=True)
class Preparation:
    """Changes to a pipeline between loading and its first call; None or empty for those that are not made."""

    compile: str | None = None
    """One of `COMPILE_MODES`."""
    device_map: Mapping[str, str] = field(default_factory=dict)
    """The device of each component; ``{"*": "balanced"}`` lets diffusers decide."""
    parallel: Mapping[str, int] = field(default_factory=dict)
    """The number of ranks for each of `PARALLEL_MODES`."""
    revision: str | None = None
    """A branch, tag or commit of the hub."""
    variant: str | None = None
    """The variant, such as ``fp16``, of weights that are published in more than one precision."""

    @classmethod
    def create(
        cls,
        compile: str | bool | None = None,
        device_map: str | Mapping[str, str] | None = None,
        parallel: str | Mapping[str, int] | None = None,
        revision: str | None = None,
        variant: str | None = None,
    ) -> Preparation:
        """Check the preparation and create a record of it; strings are as on the command line."""
        if revision is not None and (not _REVISION.fullmatch(revision) or ".." in revision):
            raise RequestError(f"revision is a branch, a tag or a commit of the hub, not {revision!r}.")
        if variant is not None and not _FILE_WORD.fullmatch(variant):
            raise RequestError(f"variant is a part of a file's name, such as fp16, not {variant!r}.")
        return cls(_compile_mode(compile), _device_map(device_map), _parallel(parallel), revision, variant)

    @property
    def ranks(self) -> int:
        """The number of processes."""
        count = 1
        for degree in self.parallel.values():
            count *= degree
        return count

    @property
    def texts(self) -> dict[str, str]:
        """The options to record with a measured run, by name, as the command line writes them."""
        texts = {
            "compile": self.compile,
            "device_map": ",".join(
                device if component == EVERY else f"{component}={device}"
                for component, device in self.device_map.items()
            ),
            "parallel": ",".join(f"{mode}={degree}" for mode, degree in self.parallel.items()),
            "revision": self.revision,
            "variant": self.variant,
        }
        return {name: text for name, text in texts.items() if text}


PREPARATIONS = tuple(one.name for one in fields(Preparation))


def _compile_mode(mode: str | bool | None) -> str | None:
    if isinstance(mode, bool) or mode is None:
        return COMPILE_MODES[0] if mode else None
    if mode not in COMPILE_MODES:
        raise RequestError(f"compile is {' or '.join(COMPILE_MODES)}, not {mode!r}.")
    return mode


def _device_map(given: str | Mapping[str, str] | None) -> dict[str, str]:
    if not given or given == BALANCED:
        return {EVERY: BALANCED} if given else {}
    pairs = given.items() if isinstance(given, Mapping) else [_pair(part) for part in given.split(",")]
    found: dict[str, str] = {}
    for component, device in pairs:
        if not str(component).isidentifier() or not str(device).strip():
            raise RequestError(
                f"device_map is balanced, or devices by component such as transformer=cuda:0,vae=cuda:1, not {given!r}."
            )
        if component in found:
            raise RequestError(f"device_map has {component} twice; leave one out.")
        found[component] = str(device).strip()
    return found


def _parallel(given: str | Mapping[str, int] | None) -> dict[str, int]:
    if not given:
        return {}
    pairs: Any = given.items() if isinstance(given, Mapping) else [_pair(part) for part in given.split(",")]
    found: dict[str, int] = {}
    for mode, degree in pairs:
        if mode not in PARALLEL_MODES or not str(degree).isdecimal() or not 2 <= int(degree) <= MAX_RANKS:
            raise RequestError(
                f"parallel is ulysses=N, ring=N, both, or tensor=N, with N from 2 to {MAX_RANKS:,}, not {given!r}."
            )
        if mode in found:
            raise RequestError(f"parallel has {mode} twice; leave one out.")
        found[mode] = int(degree)
    if "tensor" in found and len(found) > 1:
        raise RequestError("parallel: diffusers does not combine tensor with ulysses or ring; leave one out.")
    return found


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip()
