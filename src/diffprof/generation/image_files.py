"""Extract the images of a pipeline's output, and save them atomically, without overwriting existing files."""

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

from diffprof.errors import DiffprofError, OutputError, first_line

LINE_HEIGHT = 13
MAX_LINES = 3
"""Maximum lines of a label."""
GAP = 8
LARGEST_ON_SHEET = 512
SMALLEST_ON_SHEET = 192


@dataclass(frozen=True)
class SavedFiles:
    """The files of one image or video."""

    path: Path
    """The PNG of an image; the mp4 of a video, or its gif if there is no mp4."""
    frames: Path | None = None
    """The folder with the frames of a video."""
    others: tuple[Path, ...] = ()
    """The gif next to an mp4."""
    note: str | None = None
    """Why there is no mp4, although the library for it is installed."""


def images_in(output: Any) -> list[Image.Image]:
    """The frames of the video that a pipeline returned, or its one image."""
    for name in ("images", "frames", "video", "videos"):
        found = getattr(output, name, None)
        if found is not None:
            return _frames(found[0] if name != "video" or _dimensions(found) > 4 else found)
    raise DiffprofError(f"the output is neither an image nor a video ({type(output).__name__})")


def new_folder(parent: Path, name: str) -> Path:
    """Create a folder of this name, with a number appended if it exists already."""
    with _raise_output_errors(parent / name):
        parent.mkdir(parents=True, exist_ok=True)
        for candidate in _numbered_names(name):
            with contextlib.suppress(FileExistsError):
                (parent / candidate).mkdir()
                return parent / candidate
    raise AssertionError("there is always another number")


def save(frames: Sequence[Image.Image], folder: Path, name: str, fps: int) -> SavedFiles:
    """Save the image, or the video and its frames, as `name`, with a number appended if that exists already."""
    with _raise_output_errors(folder / name):
        folder.mkdir(parents=True, exist_ok=True)
        if len(frames) == 1:
            return SavedFiles(_write_new_file(folder, name, ".png", _png_writer(frames[0])))
        return _save_video(frames, folder, name, fps)


def contact_sheet(labelled_images: Sequence[tuple[str, Image.Image]]) -> Image.Image:
    """Images side by side, each with its label below."""
    images = [_resize_for_sheet(image) for _, image in labelled_images]
    columns = min(len(images), 4)
    width = max(image.width for image in images)
    font = ImageFont.load_default()
    labels = [_wrap_label(label, width, font) for label, _ in labelled_images]
    label_height = GAP + LINE_HEIGHT * max(len(lines) for lines in labels)
    height = max(image.height for image in images) + label_height
    rows = -(-len(images) // columns)
    sheet = Image.new("RGB", (columns * (width + GAP) + GAP, rows * (height + GAP) + GAP), "white")
    pen = ImageDraw.Draw(sheet)
    for number, (lines, image) in enumerate(zip(labels, images, strict=True)):
        left, top = GAP + number % columns * (width + GAP), GAP + number // columns * (height + GAP)
        sheet.paste(image, (left, top))
        for below, line in enumerate(lines):
            pen.text((left, top + image.height + 4 + below * LINE_HEIGHT), line, fill="black", font=font)
    return sheet


def png_bytes(image: Image.Image) -> bytes:
    """The content of a PNG file of the image."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _frames(found: Any) -> list[Image.Image]:
    if isinstance(found, Image.Image):
        return [found]
    if isinstance(found, list | tuple):
        return [frame for item in found for frame in _frames(item)]
    return [_to_image(frame) for frame in (found if _dimensions(found) == 4 else [found])]


def _dimensions(found: Any) -> int:
    return getattr(found, "ndim", 0)


def _to_image(frame: Any) -> Image.Image:
    """Convert an array of height x width x channels, floats from 0 to 1 or bytes, or a tensor with channels first."""
    import numpy

    if hasattr(frame, "detach"):
        frame = frame.detach().float().cpu().movedim(0, -1).numpy()
    if frame.ndim != 3 or frame.shape[-1] not in (1, 3, 4):
        raise DiffprofError(f"the output is not an image but an array of {'x'.join(map(str, frame.shape))}")
    if frame.dtype != numpy.uint8:
        frame = (frame.clip(0, 1) * 255).round().astype(numpy.uint8)
    return Image.fromarray(frame.squeeze(-1) if frame.shape[-1] == 1 else frame)


def _save_video(frames: Sequence[Image.Image], folder: Path, name: str, fps: int) -> SavedFiles:
    hidden = folder / f".{name[:60]}.{secrets.token_hex(6)}"
    written: list[Path] = []
    try:
        hidden.mkdir()
        for number, frame in enumerate(frames):
            frame.save(hidden / f"frame_{number:04d}.png")
        written.append(_write_new_file(folder, name, ".gif", lambda path: _write_gif(frames, path, fps)))
        note = _add_mp4(frames, written, fps)
        # Frames of an earlier video may be left over. No other process uses this folder: the gif reserved its name.
        candidates = (folder / candidate for candidate in _numbered_names(f"{written[0].stem}_frames"))
        frame_folder = hidden.rename(next(path for path in candidates if not path.exists()))
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        for path in written:
            path.unlink(missing_ok=True)
        raise
    return SavedFiles(written[-1], frame_folder, tuple(written[:-1]), note)


def _add_mp4(frames: Sequence[Image.Image], written: list[Path], fps: int) -> str | None:
    """Write an mp4 next to the gif if the extra `video` is installed; returns the reason if that fails."""
    if find_spec("imageio_ffmpeg") is None:
        return None
    folder, name = written[0].parent, written[0].stem
    try:
        written.append(_write_new_file(folder, name, ".mp4", lambda path: _write_mp4(frames, path, fps)))
    except (OSError, RuntimeError) as error:
        if getattr(error, "errno", None) is not None:  # an error of the file system, such as a full disk
            raise
        return f"no mp4 could be written, only a gif ({first_line(error)})"
    return None


def _png_writer(image: Image.Image) -> Callable[[Path], None]:
    return lambda path: image.save(path, "PNG")


def _write_gif(frames: Sequence[Image.Image], path: Path, fps: int) -> None:
    first, *rest = (frame.convert("RGB") for frame in frames)
    first.save(path, "GIF", save_all=True, append_images=rest, duration=round(1000 / fps), loop=0)


def _write_mp4(frames: Sequence[Image.Image], path: Path, fps: int) -> None:
    import imageio_ffmpeg

    # Sides are made even, because the usual pixel format stores one colour for two by two pixels.
    writer = imageio_ffmpeg.write_frames(
        str(path), frames[0].size, fps=fps, macro_block_size=2, ffmpeg_log_level="error"
    )
    try:
        writer.send(None)
    except OSError as error:
        raise RuntimeError(f"ffmpeg cannot be started: {error.strerror or error}") from error
    try:
        for frame in frames:
            writer.send(frame.convert("RGB").tobytes())
    except OSError as error:
        raise RuntimeError(f"ffmpeg ended early: {first_line(error)}") from error
    finally:
        writer.close()
    if not path.is_file():
        raise RuntimeError("ffmpeg ended without a file")


def _write_new_file(folder: Path, name: str, ending: str, write: Callable[[Path], None]) -> Path:
    """Write a hidden temporary file, then rename it to a name that is free."""
    hidden = folder / f".{name[:60]}.{secrets.token_hex(6)}{ending}"
    try:
        write(hidden)
        with hidden.open("rb") as file:
            os.fsync(file.fileno())
        for candidate in _numbered_names(name):
            path = folder / f"{candidate}{ending}"
            with contextlib.suppress(FileExistsError):
                _link(hidden, path)
                return path
    finally:
        hidden.unlink(missing_ok=True)
    raise AssertionError("there is always another number")


def _link(hidden: Path, path: Path) -> None:
    """Rename without overwriting. Free of race conditions if the file system supports hard links."""
    try:
        os.link(hidden, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS):
            raise
        if path.exists():
            raise FileExistsError(path) from None
        hidden.rename(path)


def _numbered_names(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in itertools.count(2))


@contextlib.contextmanager
def _raise_output_errors(path: Path) -> Iterator[None]:
    """Turn an error of the file system into an `OutputError`."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"Cannot write {path}: {error.strerror or error}.") from error


def _resize_for_sheet(image: Image.Image) -> Image.Image:
    """Shrink a large image, and enlarge a small one by whole pixels."""
    longest = max(image.size)
    scale = LARGEST_ON_SHEET / longest if longest > LARGEST_ON_SHEET else max(1, SMALLEST_ON_SHEET // longest)
    size = (round(image.width * scale), round(image.height * scale))
    resampling = Image.Resampling.LANCZOS if scale < 1 else Image.Resampling.NEAREST
    return image.convert("RGB").resize(size, resampling) if scale != 1 else image.convert("RGB")


def _wrap_label(label: str, width: int, font: Any) -> list[str]:
    """Wrap a long label between words, and truncate what is still too long."""
    words = label.encode("ascii", "replace").decode().split()  # Pillow's built-in font is ASCII only

    lines = [""]
    for word in words:
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and font.getlength(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return [_truncate(line, width, font) for line in lines[:MAX_LINES]]


def _truncate(text: str, width: int, font: Any) -> str:
    while text and font.getlength(text) > width:
        text = text[:-1]
    return text
