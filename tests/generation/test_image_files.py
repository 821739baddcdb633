"""Pictures as files, and what pipelines give back as pictures."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import torch
from PIL import Image

from diffprof.errors import DiffprofError
from diffprof.generation import image_files as pictures
from diffprof.generation.image_files import contact_sheet, images_in, new_folder, save

RED = Image.new("RGB", (4, 6), "red")
HALF_RED = numpy.full((6, 4, 3), (1.0, 0.5, 0.0), dtype=numpy.float32)


@pytest.mark.parametrize(
    ("output", "count", "pixel"),
    [
        (SimpleNamespace(images=[RED]), 1, (255, 0, 0)),
        (SimpleNamespace(images=HALF_RED[None]), 1, (255, 128, 0)),
        (SimpleNamespace(images=torch.from_numpy(HALF_RED).permute(2, 0, 1)[None]), 1, (255, 128, 0)),
        (SimpleNamespace(frames=[[RED, RED, RED]]), 3, (255, 0, 0)),
        (SimpleNamespace(frames=numpy.stack([[HALF_RED] * 5])), 5, (255, 128, 0)),
        (SimpleNamespace(frames=[[HALF_RED, HALF_RED]]), 2, (255, 128, 0)),
        (SimpleNamespace(frames=torch.from_numpy(HALF_RED).permute(2, 0, 1).expand(1, 2, 3, 6, 4)), 2, (255, 128, 0)),
        (SimpleNamespace(images=[(HALF_RED * 255).round().astype("uint8")]), 1, (255, 128, 0)),
    ],
)
def test_images_of_every_type_are_converted(output: Any, count: int, pixel: tuple[int, ...]) -> None:
    found = images_in(output)
    assert [picture.size for picture in found] == [(4, 6)] * count
    assert found[-1].getpixel((2, 3)) == pixel


def test_a_result_that_is_not_an_image_is_rejected() -> None:
    with pytest.raises(DiffprofError, match="neither an image nor a video"):
        images_in(SimpleNamespace(audios=[1]))
    with pytest.raises(DiffprofError, match="not an image but an array of 6x4x7"):
        images_in(SimpleNamespace(images=numpy.zeros((1, 6, 4, 7))))


def test_threads_that_save_under_one_name_lose_nothing(tmp_path: Path) -> None:
    colours = [(number * 20, 0, 0) for number in range(8)]
    barrier = threading.Barrier(8)

    def work(colour: tuple[int, int, int]) -> None:
        barrier.wait()
        save([Image.new("RGB", (2, 2), colour)], tmp_path, "same", 8)

    threads = [threading.Thread(target=work, args=(colour,)) for colour in colours]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    files = sorted(tmp_path.iterdir())
    assert len(files) == 8
    assert sorted(Image.open(file).getpixel((0, 0)) for file in files) == colours  # type: ignore[type-var]


def test_where_there_are_no_links_nothing_is_written_over_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*paths: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert [save([RED], tmp_path, "same", 8).path.name for _ in range(2)] == ["same.png", "same_2.png"]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_video_whose_mp4_fails_is_still_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise RuntimeError("no such codec")

    monkeypatch.setattr(pictures, "_write_mp4", fail)
    monkeypatch.setattr(pictures, "find_spec", lambda name: True)
    saved = save([RED, RED], tmp_path, "film", 8)
    assert saved.path.name == "film.gif"
    assert saved.note == "no mp4 could be written, only a gif (no such codec)"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["film.gif", "film_frames"]


def test_frames_of_an_earlier_video_do_not_block_the_next_one(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (32, 32), colour) for colour in ("red", "blue")]
    first = pictures.save(frames, tmp_path, "film", 8)
    for file in (first.path, *first.others):
        file.unlink()
    again = pictures.save(frames, tmp_path, "film", 8)
    assert again.path == first.path
    assert first.frames is not None
    assert again.frames == tmp_path / "film_frames_2"
    assert len(list(first.frames.iterdir())) == len(list(again.frames.iterdir())) == 2


def test_a_new_folder_is_always_new(tmp_path: Path) -> None:
    assert [new_folder(tmp_path / "out", "a").name for _ in range(3)] == ["a", "a_2", "a_3"]


def test_a_contact_sheet_shows_each_image_with_its_name() -> None:
    blue = Image.new("RGB", (1024, 512), "blue")
    sheet = contact_sheet([("one", Image.new("RGB", (64, 64), "red")), ("two ü", blue), ("three", blue)])
    colours = {colour for _, colour in sheet.getcolors(10**6) or ()}
    assert {(255, 0, 0), (0, 0, 255), (255, 255, 255)} <= colours
    assert any(max(colour) < 100 for colour in colours if isinstance(colour, tuple)), "letters"
    red = sum(count for count, colour in sheet.getcolors(10**6) or () if colour == (255, 0, 0))
    assert red == 192 * 192, "a small picture is shown large, its pixels as they are"
    assert sheet.size == (3 * (512 + 8) + 8, 256 + 21 + 16)


def test_a_long_label_is_broken_between_words() -> None:
    short, long = (contact_sheet([(label, RED)] * 2) for label in ("a cat", "a cat " * 20))
    assert long.width == short.width
    assert long.height == short.height + 2 * 13, "in three lines, not more"
