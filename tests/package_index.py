"""A package index in a folder: the wheel of diffprof, and the installed libraries that it needs as wheels again.

So an install can be tested as a user would make it, without a network. What is not among the dependencies is not in the
folder: an install that asked for torch would fail.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def build_wheel(folder: Path) -> Path:
    """The wheel of diffprof, as a release builds it."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("diffprof-*.whl")
    return wheel


def add_dependencies(wheel: Path) -> list[str]:
    """Put the libraries that the wheel needs beside it; the names of all of them."""
    with zipfile.ZipFile(wheel) as opened:
        (metadata,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
        lines = opened.read(metadata).decode().partition("\n\n")[0].splitlines()
    waiting = [line.partition(":")[2].strip() for line in lines if line.startswith("Requires-Dist:")]
    found: dict[str, Distribution] = {}
    while waiting:
        requirement = Requirement(waiting.pop())
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            library = distribution(requirement.name)
            if library.metadata["Name"] not in found:
                found[library.metadata["Name"]] = library
                waiting += library.requires or []
    for library in found.values():
        _pack(library, wheel.parent)
    return sorted(found)


def _pack(library: Distribution, folder: Path) -> None:
    tags = [tag.split("-") for tag in re.findall(r"^Tag: (.+)$", library.read_text("WHEEL") or "", re.MULTILINE)]
    tag = "-".join(".".join(sorted(set(part))) for part in zip(*tags, strict=True))
    name = re.sub(r"[-_.]+", "_", library.metadata["Name"])
    files = [file for file in library.files or () if ".." not in file.parts and file.suffix != ".pyc"]
    (record,) = [str(file) for file in files if file.name == "RECORD"]
    with zipfile.ZipFile(folder / f"{name}-{library.version}-{tag}.whl", "w") as packed:
        for file in files:
            if str(file) != record:
                packed.write(str(file.locate()), str(file))
        packed.writestr(record, "".join(f"{file},,\n" for file in files))
