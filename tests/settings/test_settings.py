"""`diffprof.config`: what is in force, and which place wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffprof import config
from diffprof.config import OPTIONS, setting, settings
from diffprof.errors import RequestError
from diffprof.settings import values
from tests.children import run_child


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


def test_a_missing_configuration_file_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFPROF_CONFIG", "nowhere.toml")
    with pytest.raises(RequestError, match=r"DIFFPROF_CONFIG names nowhere.toml, which does not exist"):
        settings()


def test_a_wrong_value_of_the_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(config), "DEFAULT_STEPS", "many")
    with pytest.raises(RequestError, match=r"diffprof\.config\.DEFAULT_STEPS must be a whole number"):
        setting("default_steps")


def test_settings_are_read_without_torch() -> None:
    code = "import diffprof.config as c, sys; c.settings(); sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    run_child("-c", code)


@pytest.mark.parametrize("content", ["a = " + "[" * 5000, "default_steps = " + "9" * 5000])
def test_a_file_that_no_parser_takes_is_refused(content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "diffprof.toml").write_text(content)
    with pytest.raises(RequestError, match=r"diffprof\.toml is not valid TOML"):
        setting("default_steps")


def test_a_file_that_is_far_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "diffprof.toml").write_text("#" * (1024 * 1024 + 1))
    with pytest.raises(RequestError, match="too large to be a settings file"):
        setting("default_steps")


def test_a_stack_that_is_full_is_not_told_as_a_missing_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """RecursionError is a kind of RuntimeError, which is what Python raises where there is no home."""

    def full(*arguments: object) -> Path:
        raise RecursionError

    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/nobody-was-asked-for-yet")  # what was found once is not looked up again
    monkeypatch.setattr(Path, "expanduser", full)
    monkeypatch.setattr(Path, "home", full)
    for find in (lambda: values.folder("~/x", Path()), config.user_file):
        with pytest.raises(RecursionError):
            find()
