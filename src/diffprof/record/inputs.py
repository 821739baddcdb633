"""Images and videos of a call that are given by size alone: ``1024x768``, ``81x832x480``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from diffprof.errors import RequestError
from diffprof.settings.limits import LIMITS


@dataclass(frozen=True)
class ImageSize:
    """A blank image of this size."""

    width: int
    height: int

    def __str__(self) -> str:
        return f"image {self.width}x{self.height}"


@dataclass(frozen=True)
class VideoSize:
    """A list of blank images of one size."""

    frames: int
    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.frames} images {self.width}x{self.height}"


InputSize = ImageSize | VideoSize

SIZE = re.compile(r"\s*(?:(\d{1,6})\s*[xX]\s*)?(\d{1,6})\s*[xX]\s*(\d{1,6})\s*")
DESCRIPTION = re.compile(r"(?:image |(\d+) images )(\d+)x(\d+)")


def parse_size(text: str, where: str) -> InputSize:
    """Parse ``WIDTHxHEIGHT`` or ``FRAMESxWIDTHxHEIGHT``; an error calls it `where`."""
    found = SIZE.fullmatch(text)
    if found is None:
        raise RequestError(f"{where} takes WIDTHxHEIGHT or FRAMESxWIDTHxHEIGHT in pixels, not {text!r}.")
    return _size(where, *found.groups())


def is_input(argument: str) -> bool:
    """Whether the call argument with this name is an image, a mask or a video."""
    words = set(argument.split("_"))
    return bool(words & {"image", "images", "mask", "video", "frames"}) and not words & OTHER_WORDS


OTHER_WORDS = {"embeds", "embeddings", "latents", "num", "attention", "prompt", "scale", "guidance", "crop", "size"}


def plain_input(value: Any) -> Any:
    """Convert a size, or a list of sizes, to the text of a recorded request; return other values unchanged."""
    if isinstance(value, InputSize):
        return str(value)
    return [plain_input(part) for part in value] if isinstance(value, list) else value


def recorded_input(argument: str, value: Any) -> Any:
    """Convert the text of `plain_input` back to a size; return other texts unchanged."""
    if isinstance(value, list):
        return [recorded_input(argument, part) for part in value]
    found = DESCRIPTION.fullmatch(value) if isinstance(value, str) and "prompt" not in argument else None
    return value if found is None else _size(argument, *found.groups())


def _size(where: str, frames: str | None, width: str, height: str) -> InputSize:
    sides = [LIMITS[name].check(int(text), where) for name, text in (("width", width), ("height", height))]
    if frames is None:
        return ImageSize(*sides)
    return VideoSize(LIMITS["num_frames"].check(int(frames), where), *sides)
