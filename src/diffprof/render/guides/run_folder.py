"""The files that a measured run writes: its profile, and the memory log and the timings of the guides."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffprof.errors import OutputError
from diffprof.record.atomic_files import check_folder, check_writable
from diffprof.record.files import dumps, save
from diffprof.record.profile import Profile
from diffprof.record.saved_profiles import RUN_REPORT

REPORT, MEMORY, TIMING, TRACE = RUN_REPORT, "memory_log.json", "timing_summary.txt", "trace.json"


PROFILE_ENDINGS = (".json", ".json.gz")
OTHER_ENDINGS = (".csv", ".html", ".md", ".txt")


@dataclass(frozen=True)
class RunFiles:
    """Where a measured run is written: all files to a folder, or the profile alone to one file."""

    folder: Path
    profile: Path | None = None

    @classmethod
    def at(cls, output: Path) -> RunFiles:
        """Interpret the value of ``-o``: a name that ends in .json or .json.gz is a file, any other a folder."""
        name = output.name.lower()
        if output.is_dir() or not name.endswith((*PROFILE_ENDINGS, *OTHER_ENDINGS)):
            return cls(output)
        if name.endswith(OTHER_ENDINGS):
            raise OutputError(f"-o takes a folder for all files, or a .json file for the profile, not {output}.")
        return cls(output.parent, output)

    def check(self) -> None:
        """Check before the run that its results can be written. Nothing is created yet."""
        if self.profile is None:
            check_folder_files(self.folder)
        else:
            check_writable(self.profile)

    def write(self, profile: Profile) -> list[Path]:
        """Write the profile; to a folder also the memory log and the timings."""
        return write_run_folder(self.folder, profile) if self.profile is None else [save(profile, self.profile)]

    def describe(self, files: Sequence[Path]) -> str:
        """A sentence part that names the written files."""
        beside = ", ".join(file.name for file in files if file != self.profile)
        if self.profile is None:
            return f"{beside} into {self.folder}"
        return f"{self.profile}{f', and {beside} beside it' if beside else ''}"


def check_folder_files(folder: Path) -> None:
    """Check that the files of a run can be written to the folder. Nothing is created yet."""
    check_folder(folder)
    for file in (folder / name for name in (REPORT, MEMORY, TIMING, TRACE)):
        if file.is_dir():
            raise OutputError(f"Cannot write {file}: it is a folder.")
        if file.exists() and not os.access(file, os.W_OK):
            raise OutputError(f"Cannot write {file}: it is write-protected.")


def write_run_folder(folder: Path, profile: Profile) -> list[Path]:
    """Write the profile, the memory log and the timings; if one fails, the others are still written."""
    from diffprof.render.guides.timing_file import timing_text

    contents = {
        REPORT: lambda: dumps(profile),
        MEMORY: lambda: json.dumps(memory_log(profile), indent=2) + "\n",
        TIMING: lambda: timing_text(profile),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot create the folder {folder}: {error.strerror or error}.") from error
    with contextlib.ExitStack() as stack:
        # The stack calls all of them, last one first, and raises an error only after that.
        for name, content in reversed(contents.items()):
            stack.callback(_write, folder / name, content)
    return [folder / name for name in contents]


def _write(file: Path, content: Callable[[], str]) -> None:
    from diffprof.record.atomic_files import replace_file

    replace_file(file, content().encode("utf-8", "backslashreplace"))


def memory_log(profile: Profile) -> dict[str, Any]:
    """The memory at each recorded moment, and findings, in the format that a `MemoryTracker` exports."""
    from diffprof.runtime.timing.memory_log import MemoryLog
    from diffprof.runtime.timing.memory_snapshots import MemorySnapshot

    log, numbers = MemoryLog(), []
    for number, iteration in enumerate(profile.measured.iterations if profile.measured else ()):
        if iteration.traced:
            continue  # a trace takes memory itself
        for point in iteration.memory:
            numbers.append(number)
            log.snapshots.append(
                MemorySnapshot(
                    label=point.label,
                    seconds=(iteration.began_ns + point.at_ns) / 1e9,
                    rss_bytes=point.rss_bytes,
                    peak_rss_bytes=point.peak_rss_bytes,
                    allocated_bytes=point.allocated_bytes,
                    reserved_bytes=point.reserved_bytes,
                    max_allocated_bytes=point.peak_allocated_bytes,
                )
            )
    values = log.to_dict()
    snapshots = zip(numbers, values["snapshots"], strict=True)
    return {**values, "snapshots": [{"iteration": number, **snapshot} for number, snapshot in snapshots]}
