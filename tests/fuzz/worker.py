"""One process that runs cases, one after the other, and says on standard output how each ended."""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
import typer.main

from diffprof.record import cache
from tests.fuzz.mutation import Mutator
from tests.fuzz.outcome import CPU_SECONDS, MEMORY_BYTES, Ended, problems
from tests.fuzz.subjects import Pictures, Profiles, Snapshots, Subject, Traces
from tests.fuzz.watch import CANARY, DATABASE_OUTSIDE, Watch

HARD_MEMORY_BYTES = 4 * 10**9
"""Beyond this the kernel gives no more, so that a case cannot take the machine with it."""


@dataclass(frozen=True)
class Plan:
    """Which cases a worker runs."""

    seed: int
    cases: Sequence[int]
    subjects: tuple[str, ...]
    few_folders: bool
    place: Path
    """A folder for the samples and cases."""
    failures: Path | None = None
    """Where the files of failed cases are kept."""


def subjects(names: Sequence[str], few_folders: bool) -> list[Subject]:
    """The kinds of files, in a fixed order."""
    from tests.fuzz.answers import Answers
    from tests.fuzz.configurations import Configurations
    from tests.fuzz.folders import Entries, FewFolders, Folders, WeightFiles
    from tests.fuzz.histories import Histories
    from tests.fuzz.kept_files import CachedProfiles, Laws, SweepStores

    known: list[Subject] = [
        Profiles(), Traces(), Snapshots(), Histories(), Configurations(), Pictures(),
        FewFolders() if few_folders else Folders(), WeightFiles(), Answers(),
        SweepStores(), Laws(), Entries(), CachedProfiles(),
    ]  # fmt: skip
    return [subject for subject in known if not names or subject.name in names]


def run(plan: Plan, report: Any) -> None:
    """Run the cases; `report` gets a line of JSON for each."""
    chosen = subjects(plan.subjects, plan.few_folders)
    for subject in chosen:
        (plan.place / "corpus" / subject.name).mkdir(parents=True, exist_ok=True)
        subject.prepare(plan.place / "corpus" / subject.name)
    _prepare_process(plan.place, any(subject.needs_torch for subject in chosen))
    watch = watch_over(plan.place)
    gc.freeze()  # what is there now stays: looking through it again and again takes a tenth of the time
    gc.set_threshold(20_000)
    for number in plan.cases:
        result = run_case(plan, number, chosen, watch)
        if result["problems"] and plan.failures is not None:
            keep(plan, result)
        report(result)


SECRET = "outside"
"""A file beside each folder that a case may read: `mutation.TEXTS` names it."""


def watch_over(place: Path) -> Watch:
    """A watch that knows the folders of a worker."""
    own = [place / name for name in ("case", "home", "cache", "temporary")]
    secrets = [place / "case" / SECRET]
    return Watch(*own, readable=[place / "corpus", place / "canary"], secrets=secrets)


def keep(plan: Plan, result: dict[str, Any]) -> None:
    """Keep the files of a case beside what was found."""
    assert plan.failures is not None
    target = plan.failures / f"{plan.seed}-{result['case']}"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(plan.place / "case", target / "files", symlinks=True)
    (target / "result.json").write_text(json.dumps(result, indent=2))


def _prepare_process(place: Path, with_torch: bool) -> None:
    """Limits, a module to be caught importing, and an environment that is the same everywhere."""
    (place / "canary").mkdir(exist_ok=True)
    (place / "canary" / f"{CANARY}.py").write_text("class Canary: ...\n", encoding="utf-8")
    sys.path.append(str(place / "canary"))
    (place / SECRET).write_text("{}", encoding="utf-8")
    for name in ("home", "cache", "temporary"):
        (place / name).mkdir(exist_ok=True)
    # Nothing says that the hub is out of reach: whoever asks for it is to be noticed.
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "DIFFPROF_CONFIG"):
        os.environ.pop(name, None)
    os.environ.update(
        COLUMNS="100", HOME=str(place / "home"), XDG_CACHE_HOME=str(place / "cache"), TMPDIR=str(place / "temporary")
    )
    tempfile.tempdir = str(place / "temporary")
    # Each takes longer than most cases; a process of its own does it once, too.
    typer.main.get_command = functools.cache(typer.main.get_command)
    cache._digest_of_sources = functools.cache(cache._digest_of_sources)
    if with_torch:
        import diffusers  # noqa: F401  what is imported now is not a case's doing
        import transformers  # noqa: F401

        from diffprof.counting import profile  # noqa: F401
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + HARD_MEMORY_BYTES, resource.RLIM_INFINITY))


def run_case(plan: Plan, number: int, chosen: Sequence[Subject], watch: Watch) -> dict[str, Any]:
    """One case: what it was, and what was wrong with how it ended."""
    rng = random.Random(f"{plan.seed}:{number}")
    subject = rng.choices(chosen, [each.weight for each in chosen])[0]
    folder = plan.place / "case"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / SECRET).write_text("{}", encoding="utf-8")
    commands = subject.make(Mutator(rng), folder)
    os.environ.update(
        DIFFPROF_HISTORY=str(folder / "history.sqlite"), DIFFPROF_CACHE_DIR=str(folder / "cache"),
        DIFFPROF_CATALOGUE_DIR=str(folder / "entries"), XDG_CONFIG_HOME=str(folder / "config"),
        DIFFPROF_LIMIT_MEMORY="1.2GB", DIFFPROF_LIMIT_TIME="60",
    )  # fmt: skip
    if (folder / "diffprof.toml").is_file() or (folder / "config").is_dir():
        # The file decides.
        for name in ("HISTORY", "CACHE_DIR"):
            del os.environ[f"DIFFPROF_{name}"]
    os.chdir(folder)
    forget_peak()
    started = time.process_time()
    with subject.surroundings(folder), watch.case() as found:
        ended = [run_command(command) for command in commands]
    seconds = time.process_time() - started
    if subject.chooses_places:
        found = [problem for problem in found if not problem.startswith(DATABASE_OUTSIDE)]
    wrong = [*problems(ended), *found, *(subject.check(ended) if subject.check else ())]
    peak = peak_bytes()
    if seconds > CPU_SECONDS:
        wrong.append(f"hangs: {seconds:.0f} s")
    if peak > MEMORY_BYTES:
        wrong.append(f"takes {peak / 1e9:.1f} GB")
    codes = [end.code if isinstance(end.code, int) else -1 for end in ended]
    return {
        "case": number, "subject": subject.name, "commands": commands, "codes": codes, "problems": wrong,
        "seconds": round(seconds, 3), "peak": peak, "messages": [end.err.strip()[-300:] for end in ended],
    }  # fmt: skip


def forget_peak() -> None:
    """Let the kernel note anew how large the process gets, so that no case is blamed for one before it."""
    with contextlib.suppress(OSError):  # where it cannot, the largest so far counts
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_bytes() -> int:
    """How large the process has become since."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def run_command(command: list[str]) -> Ended:
    """Run the command line in this process."""
    from diffprof.cli import main

    out, err = io.StringIO(), io.StringIO()
    code: int | str
    sys.argv = ["diffprof", *command]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001  whatever comes out is a finding
        code = traceback.format_exc(limit=-3)[-400:]
    return Ended(command, code, out.getvalue(), err.getvalue())


def main(arguments: Sequence[str]) -> None:
    """`python -m tests.fuzz.worker PLAN`, where PLAN is JSON."""
    # Bytecode of what a command imports is no file that the command writes.
    sys.dont_write_bytecode = True
    values = json.loads(arguments[0])
    plan = Plan(
        values["seed"], range(*values["cases"], values["stride"]), tuple(values["subjects"]), values["few_folders"],
        Path(values["place"]).resolve(), Path(values["failures"]) if values["failures"] else None,
    )  # fmt: skip
    # What libraries print must not come between the lines.
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(str(plan.place / "stderr.txt"), os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)

    def report(result: dict[str, Any]) -> None:
        lines.write(json.dumps(result) + "\n")
        lines.flush()

    run(plan, report)


if __name__ == "__main__":
    main(sys.argv[1:])
