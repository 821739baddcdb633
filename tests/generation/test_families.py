"""Pipelines of other families generate too, as films and from several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from diffprof.errors import DiffprofError
from diffprof.generation import image_files as pictures
from diffprof.inference import Generated, generate_image
from diffprof.model_manager import ModelManager
from diffprof.runtime.instrumentation import pipeline_monitor
from tests.extensive import split_cases
from tests.generation.support import arguments_of, files_in, same
from tests.small_pipelines import SMALL_PIPELINES


@pytest.mark.parametrize(
    "name",
    split_cases(
        [
            "stable-diffusion-xl", "stable-diffusion-3", "flux", "pixart-sigma", "sana", "qwen-image", "lumina2",
            "z-image", "kandinsky-2.2-combined", "stable-cascade-combined", "hidream", "cogview4",
        ],
        always=("flux", "sana", "stable-diffusion-3"),
    ),
)  # fmt: skip
def test_families_generate_and_are_profiled(name: str, out: Path) -> None:
    small = SMALL_PIPELINES[name]
    made = [
        generate_image(pipe=small.build(), seed=3, output_dir=out, enable_profiling=on, **arguments_of(name))
        for on in (True, False)
    ]
    assert same(made[0].image, made[1].image)
    data = made[0].profiling_data
    assert data is not None
    assert data["enabled"], data["reason"]
    assert data["throughput_tflops"] > 0
    assert data["num_executed_steps"] >= 1


def test_a_pipeline_that_draws_noise_behind_its_generator_is_repeatable_too(out: Path) -> None:
    name = "cogview4-control"
    pipelines = [SMALL_PIPELINES[name].build() for _ in range(2)]
    made = [generate_image(pipe=one, seed=3, output_dir=out, **arguments_of(name)).image for one in pipelines]
    assert same(*made)


@pytest.mark.parametrize("name", ["wan-2.1", "text-to-video"])
def test_a_video_is_saved_as_frames_gif_and_mp4(name: str, out: Path) -> None:
    pipeline = SMALL_PIPELINES[name].build()
    frames, filepath, _, data = generate_image(pipe=pipeline, seed=3, output_dir=out, fps=4, **arguments_of(name))
    assert isinstance(frames, list)
    assert data is not None
    assert data["enabled"]
    assert filepath.suffix == ".mp4"
    stills = sorted((out / f"{filepath.stem}_frames").iterdir())
    assert [still.name for still in stills] == [f"frame_{number:04d}.png" for number in range(len(frames))]
    assert same([Image.open(still) for still in stills], frames)
    film = Image.open(filepath.with_suffix(".gif"))
    assert (film.n_frames, film.size, film.info["duration"]) == (len(frames), frames[0].size, 250)
    assert b"ftyp" in filepath.read_bytes()[:32]


def test_without_ffmpeg_a_video_is_a_gif(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "find_spec", lambda name: None)
    pipeline, arguments = SMALL_PIPELINES["text-to-video"].build(), arguments_of("text-to-video")
    made = generate_image(pipe=pipeline, seed=3, output_dir=out, enable_profiling=False, **arguments)
    assert made.filepath.suffix == ".gif"


@pytest.mark.parametrize(
    ("program", "reason"), [("/nowhere/ffmpeg", "cannot be started: No such file"), ("true", "ffmpeg")]
)
def test_with_an_ffmpeg_that_does_not_work_a_video_is_a_gif_and_the_reason_is_named(
    out: Path, monkeypatch: pytest.MonkeyPatch, program: str, reason: str
) -> None:
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", program)
    saved_files = pictures.save([Image.new("RGB", (32, 32)) for _ in range(3)], out, "film", 4)
    assert saved_files.path.suffix == ".gif"
    assert reason in str(saved_files.note)
    assert not any(name.startswith(".") for name in files_in(out))


def test_audio_is_rejected_with_a_message(out: Path) -> None:
    pipeline, arguments = SMALL_PIPELINES["audioldm2"].build(), arguments_of("audioldm2")
    with pytest.raises(DiffprofError, match="neither an image nor a video"):
        generate_image(pipe=pipeline, output_dir=out, enable_profiling=False, **arguments)
    assert files_in(out) == []


@pytest.mark.extensive
def test_eight_threads_generate_at_once(
    make: Callable[..., Generated], other: Path, model: Path, manager: ModelManager, out: Path
) -> None:
    alone = {seed: make(seed=seed).image for seed in range(4)}
    alone_other = {seed: make(model_id=other, seed=seed).image for seed in range(4)}
    made: dict[tuple[Path, int], Generated] = {}
    problems: list[BaseException] = []
    barrier = threading.Barrier(8)

    def work(place: Path, seed: int) -> None:
        try:
            barrier.wait()
            made[place, seed] = make(model_id=place, seed=seed)
        except BaseException as error:  # noqa: BLE001  a thread of its own tells nobody
            problems.append(error)

    jobs = [(place, seed) for seed in range(4) for place in (model, other)]
    threads = [threading.Thread(target=work, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems
    for (place, seed), one in made.items():
        assert same(one.image, (alone if place == model else alone_other)[seed])
        assert one.profiling_data is not None
        assert one.profiling_data["enabled"], one.profiling_data["reason"]
        assert len(one.profiling_data["profile"].measured.iterations) == 1
    assert len({one.filepath for one in made.values()}) == 8
    assert set() == pipeline_monitor._MONITORED
