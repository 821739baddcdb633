"""README.md and docs/ are true: their code runs, their shown output is what comes out, their figures are computed."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from diffprof import catalogue
from diffprof.catalogue.checks import read_entry
from diffprof.cli import main
from tests.small_pipelines import SMALL_PIPELINES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WIDTH = "100"

NOT_RUN = {
    ("README.md", "sets up a machine"): 2,
    ("docs/recipes.md", "needs the network"): 1,
    ("docs/recipes.md", "takes minutes and several gigabytes"): 1,
    ("CONTRIBUTING.md", "sets up a machine"): 1,
    ("CONTRIBUTING.md", "followed in tests/test_contributing.py"): 17,
    ("docs/app.md", "serves a page until it is interrupted"): 1,
    ("docs/calculator.md", "serves a page until it is interrupted"): 1,
    ("docs/install.md", "sets up a machine"): 2,
    ("docs/sweeps.md", "takes minutes"): 1,
    ("docs/sweeps.md", "needs a cluster"): 1,
    ("docs/hardware.md", "measures this machine"): 1,
    ("docs/prediction.md", "needs the files of a run"): 1,
    ("docs/reliability.md", "takes hours"): 1,
    ("docs/reliability.md", "takes half an hour, and installs atheris"): 1,
    ("docs/runtime.md", "needs two processes; tests/runtime/test_rank_gathering.py does it"): 1,
    ("docs/runtime.md", "takes 20 seconds; tests/runtime/test_doctor.py does it"): 1,
    ("docs/shapes-model.md", "takes 30 minutes"): 1,
    ("docs/shapes-model.md", "tests/test_shapes_model.py does it, and checks the table"): 1,
}
"""Blocks that no test runs, by page and reason. A new one has to be added here, where it is seen."""

BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>.+?) -->\n)?(?P<measured>^<!-- measured: figures vary -->\n)?"
    r"^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
FIGURE = re.compile(r"(?P<figure>\d[\d,]*(?:\.\d+)?)<!-- = (?P<expression>.+?) -->")

INLINE_CODE = re.compile(r"`[^`]*`")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int
    reason: str | None
    measured: bool = False
    """Its output holds times: what is compared is its form."""


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            found["language"],
            found["text"],
            text.count("\n", 0, found.start("text")) + 1,
            found["reason"],
            found["measured"] is not None,
        )
        for found in BLOCK.finditer(text)
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all pages, with a model in it: what was counted for one comes from the cache for the next."""
    folder = tmp_path_factory.mktemp("docs")
    SMALL_PIPELINES["stable-diffusion"].build().save_pretrained(folder / "tiny-sd")
    return folder


@pytest.fixture
def at_home(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DIFFPROF_CACHE_DIR", str(place / "cache"))
    monkeypatch.setenv("COLUMNS", WIDTH)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(place)
    return place


RUN_ELSEWHERE = [ROOT / "docs" / "coming-from-the-guides.md"]
"""Its code, and every line of its tables, by tests/test_coming_from_the_guides.py."""
RUN_HERE = [page for page in PAGES if page not in RUN_ELSEWHERE]


@pytest.mark.parametrize("page", RUN_HERE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run_and_its_numbers_are_right(
    page: Path, at_home: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--update-golden"):
        update_shown_output(page, monkeypatch)
    names: dict[str, Any] = {"__name__": "__docs__"}
    printed: str | None = None
    compare = assert_same
    for block in blocks_of(page):
        where = f"{page.name}:{block.line}"
        if block.reason is not None:
            printed = None
        elif block.language == "python":
            printed = run_python(block, page, names)
            compare = assert_same_form if block.measured else assert_same
        elif block.language == "console":
            run_console(block, where, monkeypatch)
        elif block.language == "text" and printed is not None:
            compare(printed, block.text, where)
            printed = None
    wrong = [problem for problem in map_figures(page, names) if problem]
    assert not wrong, "\n".join(wrong)


def run_python(block: Block, page: Path, names: dict[str, Any]) -> str:
    # As many empty lines before it as the page has: a traceback names the page's own line.
    code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(code, names)
    return output.getvalue()


def run_console(block: Block, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for command, shown in commands_in(block.text):
        code, out = run_command(command, monkeypatch)
        if shown:
            (assert_same_form if block.measured else assert_same)(out, shown, f"{where} {command}")
        else:
            assert code == 0, f"{where} {command}: exit code {code}\n{out}"


def update_shown_output(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write what comes out into the page, where a command's whole output is shown."""
    for block in blocks_of(page):
        for command, shown in commands_in(block.text) if block.language == "console" else ():
            if shown and "..." not in shown:
                out = "".join(
                    f"{line.rstrip()}\n" for line in run_command(command, monkeypatch)[1].rstrip().split("\n")
                )
                text = page.read_text(encoding="utf-8")
                page.write_text(text.replace(f"$ {command}\n{shown}", f"$ {command}\n{out}"), encoding="utf-8")


def commands_in(text: str) -> Iterator[tuple[str, str]]:
    """Each ``$ command`` and the output that stands below it."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def run_command(command: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    words = shlex.split(command, comments=True)
    assert words[0] == "diffprof", f"only diffprof's own commands can be shown as run: {command}"
    monkeypatch.setattr(sys, "argv", words)
    both = io.StringIO()
    with contextlib.redirect_stdout(both), contextlib.redirect_stderr(both):
        try:
            code = main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, both.getvalue()


def assert_same(got: str, shown: str, where: str) -> None:
    """Line by line; ``...`` stands for any text in a line, and alone on a line for any lines."""
    lines = [line.rstrip() for line in shown.rstrip().split("\n")]
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in lines
    )
    text = "".join(f"{line.rstrip()}\n" for line in got.rstrip().split("\n"))
    assert re.fullmatch(pattern, text), f"{where} shows something else than what comes out:\n{text}"


def assert_same_form(got: str, shown: str, where: str) -> None:
    """Every line that is shown comes out, whatever the figures in it are; ``...`` stands for any lines."""
    forms = {form_of(line) for line in got.split("\n")}
    missing = [line for line in shown.split("\n") if line != "..." and form_of(line) not in forms]
    assert not missing, f"{where} shows lines that do not come out:\n" + "\n".join(missing) + f"\n---\n{got}"


def form_of(line: str) -> str:
    """The line without its figures, units, bars and rules."""
    words = re.sub(r"[<>]?\d[\d,.]*\s?(?:%|(?:ms|us|s)\b|[KMGTPE]?(?:B|i?B/s|FLOP/s|MACs|FLOPs)?\b|M)?", "#", line)
    return " ".join(re.sub(r"[█▉▊▋▌▍▎▏▁▂▃▄▅▆▇─=-]", "", words).split())


def map_figures(page: Path, names: dict[str, Any]) -> Iterator[str | None]:
    for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1):
        for found in FIGURE.finditer(INLINE_CODE.sub("", line)):
            figure = found["figure"].replace(",", "")
            decimals = len(figure.partition(".")[2])
            value = eval(found["expression"], names)
            right = f"{value:.{decimals}f}"
            yield None if right == figure else f"{page.name}:{number} says {found['figure']}, it is {right}"


def test_every_row_of_the_audit_has_a_number_that_is_checked() -> None:
    unchecked = []
    text = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        unchecked += [row for row in table.splitlines()[2:] if not FIGURE.search(row)]
    assert not unchecked


def test_only_the_listed_blocks_are_not_run() -> None:
    found: dict[tuple[str, str], int] = {}
    for page in PAGES:
        for block in blocks_of(page):
            if block.reason is not None:
                key = (page.relative_to(ROOT).as_posix(), block.reason)
                found[key] = found.get(key, 0) + 1
            else:
                assert block.language in {"python", "console", "text", "toml", "json"}, f"{page.name}:{block.line}"
    assert found == NOT_RUN


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        targets = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
        assert not [target for target in targets if not (page.parent / target).exists()], page.name


def test_the_catalogue_file_that_is_shown_is_a_valid_one() -> None:
    shown = next(block for block in blocks_of(ROOT / "docs" / "adding-a-model.md") if block.language == "toml")
    entry = read_entry(tomllib.loads(shown.text), "my-dit")
    real = catalogue.find("dit-xl-2-256")
    assert real is not None
    assert entry.pipeline == real.pipeline
    assert entry.components["transformer"].parameters == real.components["transformer"].parameters


def test_a_wrong_number_or_output_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("A dozen is 13<!-- = 3 * 4 -->, half of it 6.00<!-- = 12 / 2 -->.\n", encoding="utf-8")
    assert [problem for problem in map_figures(page, {}) if problem] == ["page.md:1 says 13, it is 12"]
    assert_same("one\ntwo\nthree\n", "one\n...\nthree\n", "here")
    assert_same("one 1\n", "one ...\n", "here")
    with pytest.raises(AssertionError, match="something else"):
        assert_same("one\ntwo\n", "one\nthree\n", "here")
