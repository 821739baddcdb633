"""What all tests share: golden files with an overwrite switch, a cache of their own."""

from __future__ import annotations

import gc
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.browsers import browser, page_file

__all__ = ["browser", "page_file"]

# Some virtual machines announce AMX and then refuse its instructions, so that bfloat16 products end the process.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")

# Without bytecode, each child process compiles torch and diffusers anew: eleven seconds of a core.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


# Nearly all that is made while tests are imported and collected stays: looking through it finds nothing.
gc.disable()

# How fast examples are made depends on what else the machine does: no reason to fail.
settings.register_profile("some", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=20)
settings.register_profile("extensive", settings.get_profile("some"), max_examples=100)
settings.load_profile("some")

MANY_OBJECTS = 50_000
"""So many take the garbage collector a few hundredths of a second."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="Overwrite the golden files with what came out.")
    parser.addoption("--extensive", action="store_true", help="Run the tests that are marked as extensive, too.")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--extensive"):
        settings.load_profile("extensive")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked as extensive, unless it was asked for: by the option, or by the name of a test."""
    if config.getoption("--extensive") or any("::" in argument for argument in config.args):
        return
    extensive = [item for item in items if item.get_closest_marker("extensive")]
    config.hook.pytest_deselected(items=extensive)
    items[:] = [item for item in items if not item.get_closest_marker("extensive")]


def pytest_collection_finish() -> None:
    """Leave what was imported to itself: looking through all of it takes the garbage collector half a second a time.

    And let it look less often: dry runs make many short-lived objects, and an eighth of the suite's time went to it.
    """
    gc.set_threshold(100_000, 50, 100)
    gc.enable()
    _freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """After the last test of a file, leave what it imported and built for others to itself, too.

    Unloading a model collects garbage: with all that thousands of tests have left, that took longer than the tests.
    """
    yield
    if nextitem is not None and nextitem.path != item.path and len(gc.get_objects()) > MANY_OBJECTS:
        _freeze()


def _freeze() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A path of its own for each test; making a `tmp_path` for all of them takes as long as most of them."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_cache(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or fills the user's cache, history or own entries of the catalogue."""
    home = next(homes)
    folder = home.with_name(f"{home.name}-cache")
    monkeypatch.setenv("DIFFPROF_CACHE_DIR", str(folder))
    monkeypatch.setenv("DIFFPROF_HISTORY", str(home.with_name(f"{home.name}-history.sqlite")))
    monkeypatch.setenv("DIFFPROF_CATALOGUE_DIR", str(home.with_name(f"{home.name}-entries")))
    monkeypatch.delenv("DIFFPROF_KEEP", raising=False)
    return folder


@pytest.fixture(autouse=True)
def own_manager() -> Iterator[None]:
    """No test finds a model that another one's `get_model_manager` has loaded."""
    yield
    models = sys.modules.get("diffprof.generation.models")
    if models is not None:
        models._manager = None  # type: ignore[attr-defined]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the golden file of that name, next to the test; ``--update-golden`` writes it instead."""

    def compare(name: str, text: str) -> None:
        path = request.path.parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path.name} is missing; make it with --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return compare
