"""Settings: defaults for profiling, sizes, folders, the model and its device.

    diffprof.config.ENABLE_COMPUTE_PROFILING          # True
    diffprof.config.DEFAULT_STEPS = 20                # for this program
    DIFFPROF_DEFAULT_STEPS=20 diffprof generate ...   # for this command
    default_steps = 20                                # in diffprof.toml, for this folder

The first place that sets an option wins: this program, an environment variable, ``diffprof.toml`` in the current
folder, the user's ``config.toml``, and last diffprof's default. ``DIFFPROF_CONFIG`` names a file to read instead of
those two. `diffprof config` shows the settings in effect and where each comes from. Nothing here needs torch.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from diffprof.errors import RequestError
from diffprof.settings import values as kinds
from diffprof.settings.limits import OFFLOADS

ENABLE_COMPUTE_PROFILING: bool
PRINT_COMPUTE_PROFILE: bool
DEFAULT_MODEL: str
DEFAULT_STEPS: int | None
DEFAULT_GUIDANCE_SCALE: float | None
DEFAULT_WIDTH: int | None
DEFAULT_HEIGHT: int | None
DEFAULT_SEED: int | None
DEFAULT_FPS: int
SIZE_PRESETS: Mapping[str, tuple[int, int]]
OUTPUT_DIR: Path
MODEL_DIRS: tuple[Path, ...]
CATALOGUE_DIR: Path
MODEL_MEMORY_LIMIT: int | None
DEVICE: str | None
DTYPE: str | None
OFFLOAD: str | None
LIMIT_MEMORY: int | None
LIMIT_TIME: float | None
KEEP: bool
HISTORY: Path
CACHE_DIR: Path

PRESETS = {
    "square": (512, 512),
    "portrait": (512, 768),
    "landscape": (768, 512),
    "square-large": (1024, 1024),
    "portrait-large": (832, 1216),
    "landscape-large": (1216, 832),
    "wide": (1344, 768),
    "tall": (768, 1344),
}
"""Width and height: sizes that Stable Diffusion 1 and 2 were trained on, then those of the larger models after them."""

FILE = "diffprof.toml"
LARGEST_FILE_BYTES = 1024 * 1024


@dataclass(frozen=True)
class ConfigOption:
    """An option that can be set."""

    key: str
    """The name in a file; in Python and, after ``DIFFPROF_``, in the environment it is upper-case."""
    read: kinds.Read
    default: Any
    """The default value, or a function that returns it."""
    about: str

    @property
    def variable(self) -> str:
        return f"DIFFPROF_{self.key.upper()}"


@dataclass(frozen=True)
class Setting:
    """The value of an option in effect, and where it comes from."""

    option: ConfigOption
    value: Any
    source: str
    """``default``, the name of the environment variable, the file, or ``this program``."""


def settings() -> dict[str, Setting]:
    """All settings in effect, by key."""
    return {key: setting(key) for key in OPTIONS}


def setting(key: str) -> Setting:
    """The setting in effect for one option."""
    option = OPTIONS[key]
    assigned = globals().get(key.upper(), _ABSENT)
    if assigned is not _ABSENT:
        return Setting(option, _read_value(option, assigned, f"diffprof.config.{key.upper()}", Path()), "this program")
    text = os.environ.get(option.variable, "").strip()
    if text:
        return Setting(option, _read_value(option, text, option.variable, Path()), option.variable)
    for file in files():
        content = _content(file)
        if key in content:
            return Setting(option, _read_value(option, content[key], f"{key} in {file}", file.parent), str(file))
    return Setting(option, option.default() if callable(option.default) else option.default, "default")


def files() -> tuple[Path, ...]:
    """The files that are read, those with precedence first."""
    named = os.environ.get("DIFFPROF_CONFIG")
    if named:
        file = Path(named).expanduser()
        if not file.is_file():
            raise RequestError(f"DIFFPROF_CONFIG names {named}, which does not exist.")
        return (file,)
    return tuple([Path(file) for file in (FILE, str(user_file())) if os.path.isfile(file)])  # noqa: PTH113  twice as fast


def user_file() -> Path:
    """The user's own settings, for all folders."""
    return _file_in(_folder_for("XDG_CONFIG_HOME", ".config", "Application Support", "APPDATA"), "config.toml")


@lru_cache(maxsize=8)
def _file_in(folder: Path, name: str) -> Path:
    """Cached, because it is needed for every setting."""
    return folder / name


def _content(file: Path) -> Mapping[str, Any]:
    try:
        state = file.stat()
        content = _parse(file, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise RequestError(f"Cannot read {file}: {error.strerror or error}.") from error
    for key in content:
        if key not in OPTIONS:
            raise RequestError(f"{file} sets {key!r}, which diffprof does not know; {kinds.suggest(key, OPTIONS)}")
    return content


@lru_cache(maxsize=8)
def _parse(file: Path, changed_ns: int, size: int) -> Mapping[str, Any]:
    """Parse a file; cached by the time of its last change and its size."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if size > LARGEST_FILE_BYTES:
        raise RequestError(f"{file} is too large to be a settings file; check that it is the right file.")
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{file} is not valid TOML: {error}.") from error


def read_option(key: str, value: Any, where: str) -> Any:
    """Read the value of an option from elsewhere; errors refer to it as `where`."""
    return _read_value(OPTIONS[key], value, where, Path())


def _read_value(option: ConfigOption, value: Any, where: str, base: Path) -> Any:
    try:
        return option.read(value, base)
    except ValueError as error:
        raise RequestError(f"{where} must be {error}, not {value!r}.") from None


def _folder_for(variable: str, usual: str, on_a_mac: str, on_windows: str) -> Path:
    """The platform's folder for one kind of files."""
    environment = tuple([os.environ.get(name) for name in (variable, on_windows, *_HOMES)])
    return _platform_folder(environment, sys.platform, usual, on_a_mac)


_HOMES = ("HOME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH")
"""Environment variables that set the home folder."""


@lru_cache(maxsize=32)
def _platform_folder(environment: tuple[str | None, ...], platform: str, usual: str, on_a_mac: str) -> Path:
    """Cached by the environment, because it is needed for every setting."""
    given, on_windows, *_ = environment
    if platform == "darwin":
        return _home() / "Library" / on_a_mac / "diffprof"
    if platform == "win32":
        return Path(on_windows or _home() / "AppData" / "Local") / "diffprof"
    # According to the XDG specification, relative paths are ignored.
    return (Path(given) if given and Path(given).is_absolute() else _home() / usual) / "diffprof"


def _home() -> Path:
    """The user's home folder; without one, a path that does not exist and cannot be written to."""
    try:
        return Path.home()
    except RecursionError:
        raise  # a RuntimeError that is not about the home folder
    except RuntimeError:
        return Path(os.devnull)


def _catalogue() -> Path:
    return user_file().parent / "models"


def _history() -> Path:
    return _folder_for("XDG_DATA_HOME", ".local/share", "Application Support", "LOCALAPPDATA") / "history.sqlite"


def _cache() -> Path:
    folder = _folder_for("XDG_CACHE_HOME", ".cache", "Caches", "LOCALAPPDATA")
    return folder / "Cache" if sys.platform == "win32" else folder


def _option(key: str, read: kinds.Read, default: Any | Callable[[], Any], about: str) -> tuple[str, ConfigOption]:
    return key, ConfigOption(key, read, default, about)


_BY_THE_MAKER = "without, what the model's maker uses"

OPTIONS = dict(
    [
        _option("enable_compute_profiling", kinds.flag, True, "Profile what is generated."),
        _option("print_compute_profile", kinds.flag, True, "Print the compute profile after generate_image in Python."),
        _option("default_model", kinds.text, "shapes", "The model to generate with."),
        _option(
            "default_steps",
            kinds.within_limits("num_inference_steps"),
            None,
            "Denoising steps; by default what the model's maker uses.",
        ),
        _option(
            "default_guidance_scale",
            kinds.within_limits("guidance_scale"),
            None,
            "Guidance; by default what the model's maker uses.",
        ),
        _option("default_width", kinds.within_limits("width"), None, "Pixels; by default what the model was made for."),
        _option(
            "default_height", kinds.within_limits("height"), None, "Pixels; by default what the model was made for."
        ),
        _option(
            "default_seed", kinds.within_limits("seed"), None, "Seed of the noise; by default a random one each time."
        ),
        _option("default_fps", kinds.within_limits("fps"), 8, "Frames per second of a video."),
        _option("size_presets", kinds.sizes(PRESETS), PRESETS, "Sizes by name, as width x height."),
        _option("output_dir", kinds.folder, Path("outputs"), "Where images go."),
        _option("model_dirs", kinds.folders, (), "Folders that are searched for models by name."),
        _option(
            "catalogue_dir", kinds.folder, _catalogue, "Folder of your own catalogue entries, which take precedence."
        ),
        _option(
            "model_memory_limit", kinds.amount, None, "Maximum bytes of weights to keep loaded; by default no limit."
        ),
        _option("device", kinds.text, None, "Where models run; by default on the accelerator, if there is one."),
        _option("dtype", kinds.dtype, None, "Dtype of the weights; by default that of the published model."),
        _option("offload", kinds.choice(OFFLOADS), None, "How weights are offloaded from the device, if at all."),
        _option(
            "limit_memory",
            kinds.amount,
            None,
            "Memory limit for opening and counting a model; by default 1.6 GB on the command line.",
        ),
        _option(
            "limit_time",
            kinds.within_limits("limit_time"),
            None,
            "CPU time limit in seconds for counting a model; by default 120 on the command line.",
        ),
        _option("keep", kinds.flag, False, "Add every profile to the history."),
        _option("history", kinds.folder, _history, "The file of the history."),
        _option("cache_dir", kinds.folder, _cache, "Where counted profiles are cached."),
    ]
)

_ABSENT = object()


def __getattr__(name: str) -> Any:
    """`ENABLE_COMPUTE_PROFILING` and the others; looked up at each use, because the environment may have changed."""
    if name.isupper() and name.lower() in OPTIONS:
        return setting(name.lower()).value
    raise AttributeError(f"module 'diffprof.config' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *(key.upper() for key in OPTIONS)})
