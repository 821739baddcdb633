"""What a pipeline gave back as pictures, and pictures as files: whole or not at all, and never over another one."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from diffprof.errors import DiffprofError, OutputError

LINE_HEIGHT = 13
MOST_LINES = 3
"""Of a label."""
GAP = 8
LARGEST_ON_SHEET = 512
SMALLEST_ON_SHEET = 192


@dataclass(frozen=True)
class Saved:
    """Where a picture or film is."""

    path: Path
    """The picture; of a film the mp4, or the gif where none can be made."""
    frames: Path | None = None
    """The folder with the frames of a film."""
    others: tuple[Path, ...] = ()
    """The gif beside an mp4."""
    note: str | None = None
    """Why there is no mp4 where there should be one."""


def pictures_in(output: Any) -> list[Image.Image]:
    """The frames of the film, or the one picture, that a pipeline gave back."""
    for name in ("images", "frames", "video", "videos"):
        found = getattr(output, name, None)
        if found is not None:
            return _frames(found[0] if name != "video" or _depth(found) > 4 else found)
    raise DiffprofError(f"what came out is neither a picture nor a film ({type(output).__name__})")


def new_folder(parent: Path, name: str) -> Path:
    """A folder of that name that was not there before; with a number where there is one."""
    with _told(parent / name):
        parent.mkdir(parents=True, exist_ok=True)
        for candidate in _numbered(name):
            with contextlib.suppress(FileExistsError):
                (parent / candidate).mkdir()
                return parent / candidate
    raise AssertionError("there is always another number")


def save(frames: Sequence[Image.Image], folder: Path, name: str, fps: int) -> Saved:
    """Write the picture, or the film and its frames, under `name` or, where that is taken, with a number behind it."""
    with _told(folder / name):
        folder.mkdir(parents=True, exist_ok=True)
        if len(frames) == 1:
            return Saved(_put(folder, name, ".png", _png(frames[0])))
        return _save_film(frames, folder, name, fps)


def contact_sheet(pictures: Sequence[tuple[str, Image.Image]]) -> Image.Image:
    """Pictures beside each other, each with its label below."""
    shown = [(label, _for_sheet(picture)) for label, picture in pictures]
    columns = min(len(shown), 4)
    width = max(picture.width for _, picture in shown)
    font = ImageFont.load_default()
    labels = [_lines(label, width, font) for label, _ in shown]
    label_height = GAP + LINE_HEIGHT * max(len(lines) for lines in labels)
    height = max(picture.height for _, picture in shown) + label_height
    rows = -(-len(shown) // columns)
    sheet = Image.new("RGB", (columns * (width + GAP) + GAP, rows * (height + GAP) + GAP), "white")
    pen = ImageDraw.Draw(sheet)
    for number, (lines, (_, picture)) in enumerate(zip(labels, shown, strict=True)):
        left, top = GAP + number % columns * (width + GAP), GAP + number // columns * (height + GAP)
        sheet.paste(picture, (left, top))
        for below, line in enumerate(lines):
            pen.text((left, top + picture.height + 4 + below * LINE_HEIGHT), line, fill="black", font=font)
    return sheet


def png_bytes(picture: Image.Image) -> bytes:
    """The picture as a PNG file."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def _frames(found: Any) -> list[Image.Image]:
    if isinstance(found, Image.Image):
        return [found]
    if isinstance(found, list | tuple):
        return [frame for one in found for frame in _frames(one)]
    return [_picture(frame) for frame in (found if _depth(found) == 4 else [found])]


def _depth(found: Any) -> int:
    return getattr(found, "ndim", 0)


def _picture(frame: Any) -> Image.Image:
    """Rows, columns, channels: of numbers from 0 to 1, or bytes. A tensor has its channels first."""
    import numpy

    if hasattr(frame, "detach"):
        frame = frame.detach().float().cpu().movedim(0, -1).numpy()
    if frame.ndim != 3 or frame.shape[-1] not in (1, 3, 4):
        raise DiffprofError(f"what came out is no picture: an array of {'x'.join(map(str, frame.shape))}")
    if frame.dtype != numpy.uint8:
        frame = (frame.clip(0, 1) * 255).round().astype(numpy.uint8)
    return Image.fromarray(frame.squeeze(-1) if frame.shape[-1] == 1 else frame)


def _save_film(frames: Sequence[Image.Image], folder: Path, name: str, fps: int) -> Saved:
    hidden = folder / f".{name[:60]}.{secrets.token_hex(6)}"
    made: list[Path] = []
    try:
        hidden.mkdir()
        for number, frame in enumerate(frames):
            frame.save(hidden / f"frame_{number:04d}.png")
        made.append(_put(folder, name, ".gif", lambda path: _gif(frames, path, fps)))
        note = _add_mp4(frames, made, fps)
        # A folder of an earlier film may be left; nobody else makes one now: the name of the gif is ours alone.
        names = (folder / candidate for candidate in _numbered(f"{made[0].stem}_frames"))
        stills = hidden.rename(next(place for place in names if not place.exists()))
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        for path in made:
            path.unlink(missing_ok=True)
        raise
    return Saved(made[-1], stills, tuple(made[:-1]), note)


def _add_mp4(frames: Sequence[Image.Image], made: list[Path], fps: int) -> str | None:
    """Write an mp4 beside the gif, where the extra `video` is installed; why there is none where that fails."""
    if find_spec("imageio_ffmpeg") is None:
        return None
    try:
        made.append(_put(made[0].parent, made[0].stem, ".mp4", lambda path: _mp4(frames, path, fps)))
    except (OSError, RuntimeError) as error:
        if getattr(error, "errno", None) is not None:  # the disk is full, and the like
            raise
        return f"there is no mp4 of it, only a gif ({str(error).strip().splitlines()[0]})"
    return None


def _png(picture: Image.Image) -> Callable[[Path], None]:
    return lambda path: picture.save(path, "PNG")


def _gif(frames: Sequence[Image.Image], path: Path, fps: int) -> None:
    first, *rest = (frame.convert("RGB") for frame in frames)
    first.save(path, "GIF", save_all=True, append_images=rest, duration=round(1000 / fps), loop=0)


def _mp4(frames: Sequence[Image.Image], path: Path, fps: int) -> None:
    import imageio_ffmpeg

    # Sides that are odd are made even: the usual pixel format has one colour for two by two pixels.
    writer = imageio_ffmpeg.write_frames(
        str(path), frames[0].size, fps=fps, macro_block_size=2, ffmpeg_log_level="error"
    )
    writer.send(None)
    try:
        for frame in frames:
            writer.send(frame.convert("RGB").tobytes())
    finally:
        writer.close()


def _put(folder: Path, name: str, ending: str, write: Callable[[Path], None]) -> Path:
    """Write a file under a name that nobody sees, then give it one that is free."""
    hidden = folder / f".{name[:60]}.{secrets.token_hex(6)}{ending}"
    try:
        write(hidden)
        with hidden.open("rb") as file:
            os.fsync(file.fileno())
        for candidate in _numbered(name):
            path = folder / f"{candidate}{ending}"
            with contextlib.suppress(FileExistsError):
                _link(hidden, path)
                return path
    finally:
        hidden.unlink(missing_ok=True)
    raise AssertionError("there is always another number")


def _link(hidden: Path, path: Path) -> None:
    """Give the file its name, unless another has it: also when two do it at once, where the file system can."""
    try:
        os.link(hidden, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS):
            raise
        if path.exists():
            raise FileExistsError(path) from None
        hidden.rename(path)


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in itertools.count(2))


@contextlib.contextmanager
def _told(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"Cannot write {place}: {error.strerror or error}.") from error


def _for_sheet(picture: Image.Image) -> Image.Image:
    """Not so large that others have no room, and not so small that nothing is seen; pixels stay pixels."""
    longest = max(picture.size)
    scale = LARGEST_ON_SHEET / longest if longest > LARGEST_ON_SHEET else max(1, SMALLEST_ON_SHEET // longest)
    size = (round(picture.width * scale), round(picture.height * scale))
    how = Image.Resampling.LANCZOS if scale < 1 else Image.Resampling.NEAREST
    return picture.convert("RGB").resize(size, how) if scale != 1 else picture.convert("RGB")


def _lines(label: str, width: int, font: Any) -> list[str]:
    """The label, broken between words where it is too long, and cut where that does not help."""
    words = label.encode("ascii", "replace").decode().split()  # the font that is always there has no other letters
    lines = [""]
    for word in words:
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and font.getlength(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return [_cut(line, width, font) for line in lines[:MOST_LINES]]


def _cut(text: str, width: int, font: Any) -> str:
    while text and font.getlength(text) > width:
        text = text[:-1]
    return text
