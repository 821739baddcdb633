"""`diffprof.config`: what is in force, and which place wins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from diffprof import config
from diffprof.config import OPTIONS, setting, settings
from diffprof.errors import RequestError


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, with a user who has set nothing."""
    for option in OPTIONS.values():
        monkeypatch.delenv(option.variable, raising=False)
    monkeypatch.delenv("DIFFPROF_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def user_file(place: Path, text: str) -> Path:
    file = config.user_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_profiling_is_on_by_default_as_in_the_guide() -> None:
    assert config.ENABLE_COMPUTE_PROFILING is True
    assert config.DEFAULT_MODEL == "shapes"
    assert config.DEFAULT_STEPS is None
    assert Path("outputs") == config.OUTPUT_DIR
    assert {one.source for one in settings().values()} == {"default"}


def test_every_option_has_a_name_in_python_in_files_and_in_the_environment() -> None:
    for key, option in OPTIONS.items():
        assert option.variable == f"DIFFPROF_{key.upper()}"
        assert getattr(config, key.upper()) == setting(key).value
        assert key.upper() in dir(config)
        assert key.upper() in config.__annotations__, "a type for whoever uses it"
    with pytest.raises(AttributeError, match="has no attribute 'NOTHING'"):
        _ = config.NOTHING


def test_the_nearest_place_wins(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = user_file(place, "default_steps = 10\ndefault_width = 100\n")
    assert (config.DEFAULT_STEPS, setting("default_steps").source) == (10, str(user))
    Path("diffprof.toml").write_text("default_steps = 20\n")
    assert (config.DEFAULT_STEPS, setting("default_steps").source) == (20, "diffprof.toml")
    assert config.DEFAULT_WIDTH == 100, "what the nearer file does not say comes from the farther one"
    monkeypatch.setenv("DIFFPROF_DEFAULT_STEPS", "30")
    assert (config.DEFAULT_STEPS, setting("default_steps").source) == (30, "DIFFPROF_DEFAULT_STEPS")
    monkeypatch.setitem(vars(config), "DEFAULT_STEPS", 40)
    assert (config.DEFAULT_STEPS, setting("default_steps").source) == (40, "this program")


def test_a_file_that_is_named_is_the_only_one(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("diffprof.toml").write_text("default_steps = 20\n")
    other = place / "other.toml"
    other.write_text("default_width = 640\n")
    monkeypatch.setenv("DIFFPROF_CONFIG", str(other))
    assert (config.DEFAULT_STEPS, config.DEFAULT_WIDTH) == (None, 640)
    assert config.files() == (other,)


def test_a_file_that_changes_is_read_again() -> None:
    file = Path("diffprof.toml")
    file.write_text("default_steps = 7\n")
    assert config.DEFAULT_STEPS == 7
    file.write_text("default_steps = 123\n")
    assert config.DEFAULT_STEPS == 123


def test_paths_in_a_file_start_from_its_folder(place: Path) -> None:
    user = user_file(place, 'output_dir = "pictures"\nmodel_dirs = ["models", "/srv/models", "~/m"]\n')
    assert user.parent / "pictures" == config.OUTPUT_DIR
    assert (user.parent / "models", Path("/srv/models"), Path.home() / "m") == config.MODEL_DIRS


def test_a_value_can_be_taken_back(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user_file(place, 'default_steps = 10\ndtype = "bfloat16"\n')
    monkeypatch.setenv("DIFFPROF_DEFAULT_STEPS", "none")
    monkeypatch.setenv("DIFFPROF_DTYPE", "none")
    assert (config.DEFAULT_STEPS, config.DTYPE) == (None, None)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("enable_compute_profiling", "0", False),
        ("enable_compute_profiling", "off", False),
        ("keep", "TRUE", True),
        ("default_guidance_scale", "3.5", 3.5),
        ("default_seed", "0", 0),
        ("model_memory_limit", "8GB", 8 * 10**9),
        ("model_memory_limit", "512 MiB", 512 * 2**20),
        ("model_memory_limit", "1.5k", 1500),
        ("model_memory_limit", "123456", 123456),
        ("dtype", "BFloat16", "bfloat16"),
        ("offload", "model", "model"),
        ("device", " cuda:1 ", "cuda:1"),
        ("default_fps", "24", 24),
    ],
)
def test_texts_of_the_environment_are_read(key: str, text: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"DIFFPROF_{key.upper()}", text)
    found = setting(key).value
    assert found == value
    assert type(found) is type(value)


def test_presets_are_added_to_those_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_SIZE_PRESETS", "poster=1024x1536, square=64x64")
    assert config.SIZE_PRESETS["poster"] == (1024, 1536)
    assert config.SIZE_PRESETS["square"] == (64, 64)
    assert config.SIZE_PRESETS["portrait"] == (512, 768)
    monkeypatch.delenv("DIFFPROF_SIZE_PRESETS")
    Path("diffprof.toml").write_text('[size_presets]\nstamp = [32, 48]\nstrip = "800x100"\n')
    assert (config.SIZE_PRESETS["stamp"], config.SIZE_PRESETS["strip"]) == ((32, 48), (800, 100))


@pytest.mark.parametrize(
    ("key", "text", "sentence"),
    [
        ("enable_compute_profiling", "maybe", "must be 1 or 0, not 'maybe'"),
        ("default_steps", "0", "must be a whole number from 1 to 100,000, not '0'"),
        ("default_steps", "2.5", "must be a whole number"),
        ("default_seed", str(2**63), "must be a whole number from 0 to"),
        ("default_guidance_scale", "nan", "must be a number"),
        ("model_memory_limit", "lots", "must be an amount of memory such as 8GB"),
        ("model_memory_limit", "0", "must be an amount of memory"),
        ("dtype", "int4", "must be one of float32, float16, bfloat16"),
        ("offload", "cloud", "must be one of model, sequential, group"),
        ("size_presets", "poster=big", "must be sizes such as 512x768"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(
    key: str, text: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"DIFFPROF_{key.upper()}", text)
    with pytest.raises(RequestError, match=f"DIFFPROF_{key.upper()} {sentence}"):
        setting(key)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("default_steps = true", "default_steps in diffprof.toml must be a whole number from 1 to 100,000, not True"),
        (
            "defaul_steps = 3",
            "diffprof.toml sets 'defaul_steps', which diffprof does not know; did you mean default_st",
        ),
        ("xyz = 3", "which diffprof does not know; there are enable_compute_profiling, "),
        ("default_steps = ", "diffprof.toml is not valid TOML"),
        ("model_dirs = 3", "model_dirs in diffprof.toml must be a list of paths, not 3"),
        ('size_presets = "a"', "must be sizes such as 512x768"),
        ("[size_presets]\na = [1, 2, 3]", "must be sizes such as 512x768"),
        ("output_dir = 7", "output_dir in diffprof.toml must be a path, not 7"),
    ],
)
def test_a_wrong_file_is_named_with_the_key(text: str, sentence: str) -> None:
    Path("diffprof.toml").write_text(text)
    with pytest.raises(RequestError) as refused:
        settings()
    assert sentence in str(refused.value)


def test_a_file_that_is_named_and_missing_is_complained_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_CONFIG", "nowhere.toml")
    with pytest.raises(RequestError, match=r"DIFFPROF_CONFIG names nowhere.toml, and there is no such file"):
        settings()


def test_a_wrong_value_of_the_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(config), "DEFAULT_STEPS", "many")
    with pytest.raises(RequestError, match=r"diffprof\.config\.DEFAULT_STEPS must be a whole number"):
        setting("default_steps")


def test_settings_are_read_without_torch() -> None:
    code = "import diffprof.config as c, sys; c.settings(); sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
