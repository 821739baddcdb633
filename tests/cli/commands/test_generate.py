"""``diffprof generate``: a picture, what it took, and where it is."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy
import pytest
from PIL import Image

import diffprof
from diffprof.errors import OutputError
from diffprof.generation.batch import Batch
from diffprof.inference import generate_image
from diffprof.model_manager import get_model_manager
from diffprof.record.history import History
from diffprof.render import numbers
from tests.cli.conftest import Ended, Run
from tests.pipelines.loadable import saved_with_weights

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "generation_config.schema.json").read_text())

SEVERAL = [False, pytest.param(True, marks=pytest.mark.extensive)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_with_weights("stable-diffusion", tmp_path_factory.mktemp("generate") / "small-sd")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_with_weights("stable-diffusion-3", tmp_path_factory.mktemp("generate") / "small-sd3")


@pytest.fixture(autouse=True, scope="module")
def loaded_models() -> Iterator[None]:
    """What one test has loaded serves the next, as it does in a program."""
    yield
    get_model_manager().unload_all()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder and a history of its own."""
    monkeypatch.setenv("DIFFPROF_HISTORY", str(tmp_path / "history.sqlite"))
    monkeypatch.setenv("DIFFPROF_DEVICE", "cpu")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def generate(run: Run, model: Path) -> Callable[..., Ended]:
    """A quick picture."""
    return lambda *options: run("generate", "a cat", "--model", str(model), "--steps", "2", "--seed", "7", *options)


def part_of(text: str, begin: str, end: str) -> str:
    """From the line that begins with one text to the line that begins with the other."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(begin))
    last = next(number for number, line in enumerate(lines) if line.startswith(end))
    return "\n".join(lines[first:last])


def names_in(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir()) if Path(folder).exists() else []


def test_an_image_its_profile_and_a_short_table(generate: Callable[..., Ended], model: Path) -> None:
    ended = generate()
    assert ended.code == 0, ended.err
    assert ended.err == "Wrote outputs/small-sd_seed7.png\nWrote outputs/small-sd_seed7.profile.json\n"
    saved = diffprof.load("outputs/small-sd_seed7.profile.json")
    assert saved.measured is not None
    heading = "small-sd · 32 x 32 · 2 steps · "
    assert ended.out.startswith(heading), ended.out
    table = [line.split() for line in part_of(ended.out, "part ", "Steps ").splitlines() if line.strip()][2:]
    rows = {line[0]: " ".join(line) for line in table}
    assert sorted(rows) == ["everything", "generation", "text_encoder", "unet", "vae"]
    assert f" {numbers.short(saved.components['unet'].macs)} " in rows["unet"]
    assert f" {numbers.short(saved.total.macs)} " in rows["generation"]
    assert rows["unet"].endswith((" MB", " GB"))  # of the process, whatever ran in it before
    assert rows["generation"].endswith((" MB", " GB"))
    assert "Steps    2 denoising steps" in ended.out
    assert ended.out.index("Steps ") < ended.out.index("Findings")
    assert saved.request.arguments["prompt"] == "a cat"
    same = generate_image(model, "a cat", num_inference_steps=2, seed=7, output_dir="again", enable_profiling=False)
    assert numpy.array_equal(numpy.asarray(Image.open("outputs/small-sd_seed7.png")), numpy.asarray(same.image))


def test_without_a_model_the_bundled_one_generates(run: Run) -> None:
    ended = run("generate", "a red circle on a blue background", "--steps", "2", "--seed", "7")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("shapes · 64 x 64 · 2 steps · ")
    assert names_in("outputs") == ["shapes_seed7.png", "shapes_seed7.profile.json"]


def test_every_option_reaches_the_pipeline(generate: Callable[..., Ended]) -> None:
    ended = generate(
        "--width", "48", "--height", "64", "--guidance", "3.5", "--negative-prompt", "a dog", "--scheduler", "heun",
        "--dtype", "bf16", "--set", "guidance_rescale=0.5", "-o", "there", "--device", "cpu",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert Image.open("there/small-sd_seed7.png").size == (48, 64)
    request = diffprof.load("there/small-sd_seed7.profile.json").request
    given = {name: request.arguments[name] for name in ("guidance_scale", "negative_prompt", "guidance_rescale")}
    assert given == {"guidance_scale": 3.5, "negative_prompt": "a dog", "guidance_rescale": 0.5}
    assert (request.dtype, request.scheduler, request.source) == ("bfloat16", "heun", "folder")


def test_a_size_can_be_named(generate: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_SIZE_PRESETS", "stamp=48x32")
    assert generate("--size", "stamp", "-q", "--no-profiling").code == 0
    assert generate("--size", "64x32", "-q", "--no-profiling").code == 0
    assert [Image.open(f"outputs/small-sd_seed7{more}.png").size for more in ("", "_2")] == [(48, 32), (64, 32)]
    assert "there is no size 'stam'; give one such as 512x768, or a preset: did you mean stamp" in (
        generate("--size", "stam").err
    )
    assert "leave out --width and --height" in generate("--size", "stamp", "--width", "32").err


def test_several_models_side_by_side(generate: Callable[..., Ended], other: Path) -> None:
    ended = generate("--model", str(other), "-o", "out")
    assert ended.code == 0, ended.err
    (folder,) = Path("out").iterdir()
    assert names_in(str(folder)) == [
        "contact_sheet.png", "generation_config.json", "small-sd3_seed7.png", "small-sd3_seed7.profile.json",
        "small-sd_seed7.png", "small-sd_seed7.profile.json",
    ]  # fmt: skip
    heading, _, *rows = ended.out.splitlines()
    assert heading.split() == ["model", "steps", "time", "parameters", "MACs", "throughput", "peak", "memory"]
    assert [line.split()[0] for line in rows if line] == [
        "small-sd",
        "small-sd3",
        "Findings",
        "small-sd:",
        "small-sd3:",
    ], ended.out
    assert Image.open(folder / "contact_sheet.png").width > 2 * 192
    for name in ("generation_config.json", "contact_sheet.png"):
        assert f"Wrote {folder / name}\n" in ended.err


def test_a_failed_model_is_reported_after_the_others(generate: Callable[..., Ended]) -> None:
    ended = generate("--model", "no-such-model")
    assert ended.code == 1
    assert "failed" in ended.out
    assert ended.err.splitlines()[-1] == (
        "diffprof: error: 1 of 2 models failed (no-such-model: Unknown model 'no-such-model'; "
        "`diffprof models` lists the known ones)."
    )


def test_if_all_requests_were_wrong_it_ends_like_one(run: Run) -> None:
    ended = run("generate", "a cat", "--model", "no-such-model", "--model", "nor-this")
    assert ended.code == 2
    assert "2 of 2 models failed" in ended.err


@pytest.mark.parametrize("several", SEVERAL)
def test_json_is_the_record_of_a_batch(generate: Callable[..., Ended], other: Path, several: bool) -> None:
    ended = generate("--json", "-q", *(("--model", str(other), "--no-profiling") if several else ()))
    assert (ended.code, ended.err) == (0, "")
    values = json.loads(ended.out)
    jsonschema.validate(values, SCHEMA)
    assert [entry["model_name"] for entry in values["models"]] == ["small-sd", "small-sd3"][: 1 + several]
    assert values["seed"] == 7
    assert all(Path(entry["image_path"]).is_file() for entry in values["models"])


@pytest.mark.parametrize("several", SEVERAL)
def test_csv_has_a_line_for_each_model(generate: Callable[..., Ended], several: bool) -> None:
    ended = generate("--csv", "-q", *(("--model", "no-such-model") if several else ()))
    assert ended.code == (1 if several else 0)
    first, *others = csv.DictReader(io.StringIO(ended.out))
    profile = diffprof.load(next(Path("outputs").rglob("*.profile.json")))
    assert (first["model_name"], first["seed"], first["error"]) == ("small-sd", "7", "")
    assert int(first["total_macs"]) == profile.total.macs
    assert float(first["inference_time_seconds"]) > 0
    assert Path(first["image_path"]).is_file()
    assert [(one["model_id"], one["total_macs"]) for one in others] == [("no-such-model", "")][: int(several)]
    assert all(one["error"].startswith("Unknown model") for one in others)


def test_images_of_two_models_are_compared_by_their_profiles(run: Run, generate: Callable[..., Ended]) -> None:
    for steps in ("1", "2"):
        assert generate("-q", "-o", "out", "--steps", steps).code == 0
    files = ("out/small-sd_seed7.profile.json", "out/small-sd_seed7_2.profile.json")
    ended = run("compare", *files)
    assert ended.code == 0, ended.err
    assert "PSNR " in ended.out
    assert "SSIM " in ended.out
    (picture,) = json.loads(run("compare", *files, "--json").out)["pictures"]
    assert 0 < picture["psnr_db"] < 100
    assert run("compare", files[0], files[0]).out.count("PSNR") == 0, "equal pictures are said to be equal"


def test_a_cache_is_enabled_for_this_image_only(run: Run, tmp_path: Path) -> None:
    flux = saved_with_weights("flux", tmp_path / "small-flux")
    ask = ("generate", "a cat", "--model", str(flux), "--steps", "4", "--seed", "7", "-q", "--width", "32", "--height")
    for options in (("32", "--cache", "first_block:threshold=1000"), ("32",)):
        ended = run(*ask, *options)
        assert ended.code == 0, ended.err
    cached, plain = (diffprof.load(f"outputs/small-flux_seed7{more}.profile.json") for more in ("", "_2"))
    assert cached.measured is not None
    assert cached.measured.iterations[0].caches
    assert cached.total.macs < plain.total.macs
    assert plain.measured is not None
    assert not plain.measured.iterations[0].caches


def test_without_profiling_there_is_only_the_image(generate: Callable[..., Ended]) -> None:
    ended = generate("--no-profiling")
    assert (ended.code, ended.out, ended.err) == (0, "", "Wrote outputs/small-sd_seed7.png\n")
    assert names_in("outputs") == ["small-sd_seed7.png"]


def test_a_drawn_seed_is_printed(run: Run, model: Path) -> None:
    ended = run("generate", "a cat", "--model", str(model), "--steps", "1", "--json", "-q", "--no-profiling")
    values = json.loads(ended.out)
    assert values["models"][0]["seed"] == values["seed"]
    assert str(values["seed"]) in values["models"][0]["image_path"]


def test_it_is_kept_with_its_image_in_a_database(generate: Callable[..., Ended], tmp_path: Path) -> None:
    ended = generate("--keep")
    assert ended.code == 0, ended.err
    assert "Kept as run 1; `diffprof history show 1` shows it\n" in ended.err
    history = History()
    assert history.get_run(1).kind == "generate"
    assert history.picture(1) == Path("outputs/small-sd_seed7.png").read_bytes()
    assert history.get(1).measured is not None
    with sqlite3.connect(tmp_path / "history.sqlite") as connection:
        assert connection.execute("select count(*) from runs").fetchone() == (1,)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("",), "the prompt is empty; describe the image."),
        (("a", "--seed", "-1"), "--seed must be a whole number from 0 to 9,223,372,036,854,775,807, not -1."),
        (("a", "--seed", "x"), "--seed must be a whole number from 0 to 9,223,372,036,854,775,807, not 'x'."),
        (("a", "--steps", "0"), "--steps must be a whole number from 1 to 100,000, not 0."),
        (
            ("a", "--width", "33", "--height", "30"),
            "small-sd cannot generate 33x30 (StableDiffusionPipeline refused the call: `height` and",
        ),
        (("a", "--width", "64"), "a width of 64 was given without a height"),
        (("a", "--scheduler", "zzz"), "unknown scheduler 'zzz'; for example euler, heun, ddim"),
        (("a", "--dtype", "int1"), "Unknown dtype 'int1'"),
        (("a", "--set", "colour=red"), "StableDiffusionPipeline has no call argument 'colour'"),
        (("a", "--cache", "zzz"), "unknown cache 'zzz'; the installed diffusers has "),
        (("a", "--cache", "first_block"), "StableDiffusionPipeline cannot use a cache"),
        (("a", "--json", "--csv"), "--json and --csv exclude each other; choose one."),
        (("a", "--keep", "--no-profiling"), "--keep needs a profile, and --no-profiling makes none"),
        (("a", "--seed", "1", "--set", "seed=2"), "The call argument seed is given twice; leave one out."),
        (("a", "--set", "prompt=b"), "The call argument prompt is given twice; leave one out."),
        (("a", "--fps", "0"), "--fps must be a whole number from 1 to 240, not 0."),
        (("a", "--offload", "cloud"), "unknown offload mode 'cloud'"),
    ],
)
def test_bad_input_is_rejected_with_a_message_and_leaves_nothing(
    run: Run, model: Path, options: tuple[str, ...], sentence: str
) -> None:
    ended = run("generate", *options, "--model", str(model))
    assert (ended.code, ended.out) == (2, "")
    assert sentence in ended.err
    assert ended.err.startswith("diffprof: error: ")
    assert ended.err.count("\n") == 1
    assert names_in("outputs") == []


def test_a_folder_that_cannot_be_written_is_reported_before_the_work(generate: Callable[..., Ended]) -> None:
    Path("file").write_text("mine")
    ended = generate("-o", "file/below")
    assert ended.code == 1
    assert ended.err.startswith("diffprof: error: Cannot write into file/below: ")


def test_a_batch_is_shown_though_its_record_could_not_be_written(
    generate: Callable[..., Ended], other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Batch.write

    def write(self: Batch) -> None:
        if self.results:
            raise OutputError("Cannot write generation_config.json: No space left on device.")
        real(self)

    monkeypatch.setattr(Batch, "write", write)
    ended = generate("--model", str(other), "--no-profiling", "--json")
    assert ended.code == 1
    assert [one["model_name"] for one in json.loads(ended.out)["models"]] == ["small-sd", "small-sd3"]
    assert ended.err.splitlines()[-1].endswith("No space left on device.")


@pytest.mark.extensive
def test_a_batch_is_shown_though_its_contact_sheet_could_not_be_written(
    generate: Callable[..., Ended], other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, data: bytes) -> Path:
        raise OutputError(f"Cannot write {path.name}: No space left on device.")

    monkeypatch.setattr("diffprof.record.atomic_files.replace_file", refuse)
    ended = generate("--model", str(other), "--no-profiling", "--json")
    assert ended.code == 1
    assert [one["model_name"] for one in json.loads(ended.out)["models"]] == ["small-sd", "small-sd3"]
    assert ended.err.splitlines()[-1].endswith("Cannot write contact_sheet.png: No space left on device.")


def test_a_history_that_cannot_be_written_is_reported_and_the_image_is_there(
    generate: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIFFPROF_HISTORY", "dir")
    Path("dir").mkdir()
    assert generate("--keep").code in (1, 2)
    assert "small-sd_seed7.png" in names_in("outputs")


def test_the_help_says_what_it_is_for(run: Run) -> None:
    text = run("generate", "--help").out
    assert "Generate an image or a video, and measure what it takes." in text
    assert "generate" in run("--help").out


def test_a_run_that_is_interrupted_leaves_nothing(
    generate: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers import UNet2DConditionModel

    def interrupt(*arguments: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    generate("--no-profiling", "-o", "elsewhere")
    monkeypatch.setattr(UNet2DConditionModel, "forward", interrupt)
    ended = generate("--no-profiling")
    assert (ended.code, ended.err) == (130, "diffprof: interrupted.\n")
    assert names_in("outputs") == []
