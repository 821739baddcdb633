"""Read and write a law as a file: compressed JSON with a checksum, small enough for the package."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from diffprof.errors import FileFormatError
from diffprof.laws.costs import CostSums
from diffprof.laws.law import Domain, Law, Range
from diffprof.laws.polynomials import PolynomialTable
from diffprof.laws.programs import Program
from diffprof.laws.templates import CONSTANT, DICTIONARY, NUMBER, Template
from diffprof.laws.variables import Variable
from diffprof.laws.variation import Variation
from diffprof.record.atomic_files import replace_file

FORMAT = 1
MAGIC = b"diffprof law\n"
DIGEST_BYTES = 32
MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_BYTES = 256 * 1024 * 1024
"""The limit of the decompressed JSON, because a small file can expand to any length."""

FOLDER = Path(__file__).parent / "data"
RECORDED = FOLDER / "recorded"
ENDING = ".law"
REASONS = FOLDER / "without.json"
"""The reasons why models of the catalogue have no law."""


def packaged_law(model: str) -> Law | None:
    """Return the law of a catalogue model, if the package has one."""
    path = FOLDER / f"{model}{ENDING}"
    return _read_once(path) if path.is_file() else None


def recorded_law(model: str) -> Law | None:
    """Return recorded requests of a model, such as those with switches of its VAE, as a law."""
    path = RECORDED / f"{model}{ENDING}"
    return _read_once(path) if path.is_file() else None


def reasons() -> dict[str, str]:
    """Return the models of the catalogue without a law, and the reasons."""
    found: dict[str, str] = json.loads(REASONS.read_text(encoding="utf-8")) if REASONS.is_file() else {}
    return found


def models_with_laws() -> list[str]:
    """Return the catalogue models with a law in the package."""
    return sorted(path.name.removesuffix(ENDING) for path in FOLDER.glob(f"*{ENDING}"))


@lru_cache(maxsize=8)
def _read_once(path: Path) -> Law:
    return read_law(path)


def write_law(law: Law, path: Path) -> None:
    """Write the law to a file."""
    text = json.dumps(law_document(law), separators=(",", ":"), ensure_ascii=True).encode()
    packed = lzma.compress(text, format=lzma.FORMAT_XZ, check=lzma.CHECK_NONE, preset=9 | lzma.PRESET_EXTREME)
    replace_file(path, MAGIC + hashlib.sha256(packed).digest() + packed)


def read_law(path: Path) -> Law:
    """Read a law from a file; raise `FileFormatError` if it was changed after it was written."""
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    begin = len(MAGIC) + DIGEST_BYTES
    if len(data) > MAX_FILE_BYTES or not data.startswith(MAGIC):
        raise FileFormatError(f"{path} is not a law of diffprof; reinstall diffprof, or count with --count.")
    packed = data[begin:]
    if hashlib.sha256(packed).digest() != data[len(MAGIC) : begin]:
        raise FileFormatError(
            f"{path} was changed after it was written (its checksum does not match); "
            "reinstall diffprof, or count with --count."
        )
    text = lzma.LZMADecompressor().decompress(packed, MAX_BYTES)
    values = json.loads(text)
    if values.get("format") != FORMAT:
        raise FileFormatError(f"{path} has the format of another version of diffprof; count with --count.")
    return _decode(values)


def law_document(law: Law) -> dict[str, Any]:
    """Return the law as JSON values."""
    template, table = law.programs[0].template, law.programs[0].table
    return {
        "format": FORMAT,
        "model": law.model,
        "versions": dict(law.versions),
        "parameters": list(law.parameters),
        "sources": dict(law.sources),
        "defaults": dict(law.defaults),
        "fixed": dict(law.fixed),
        "guidance": law.guidance,
        "needs_both_sides": law.needs_both_sides,
        "domains": [_encode_domain(domain) for domain in law.domains],
        "constants": template.constants,
        "nodes": _encode_nodes(template.nodes),
        "monomials": [list(map(list, monomial)) for monomial in table.monomials],
        "polynomials": [list(row) for row in table.rows],
        "programs": [
            {
                "root": program.root,
                "variables": [asdict(variable) for variable in program.variables],
                "sums": [asdict(sums) for sums in program.sums],
            }
            for program in law.programs
        ],
    }


def _encode_nodes(nodes: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    """Store kinds and values separately: similar values are adjacent, which compresses best."""
    kinds, values = [], []
    for node in nodes:
        kinds.append(node[0])
        if node[0] in (CONSTANT, NUMBER):
            values.append(node[1])
        elif node[0] == DICTIONARY:
            values.append([list(node[1]), list(node[2])])
        else:
            values.append(list(node[1]))
    return {"kinds": ["".join(kinds)], "values": values}


def _decode(values: Mapping[str, Any]) -> Law:
    template = Template(_decode_nodes(values["nodes"]), values["constants"])
    monomials = [tuple((name, power) for name, power in monomial) for monomial in values["monomials"]]
    table = PolynomialTable(monomials, values["polynomials"])
    return Law(
        model=values["model"],
        versions=values["versions"],
        parameters=tuple(values["parameters"]),
        sources=values["sources"],
        defaults=values["defaults"],
        fixed=values["fixed"],
        guidance=values["guidance"],
        needs_both_sides=values["needs_both_sides"],
        programs=tuple(
            Program(
                template,
                program["root"],
                table,
                tuple(Variable(**variable) for variable in program["variables"]),
                tuple(_decode_sums(sums) for sums in program["sums"]),
            )
            for program in values["programs"]
        ),
        domains=tuple(_decode_domain(domain) for domain in values["domains"]),
    )


def _decode_nodes(values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    (kinds,) = values["kinds"]
    return [
        (kind, tuple(value[0]), value[1]) if kind == DICTIONARY else (kind, value)
        for kind, value in zip(kinds, values["values"], strict=True)
    ]


def _decode_sums(values: Mapping[str, Any]) -> CostSums:
    peaks = values["peaks"]
    return CostSums(**{**values, "work": tuple(values["work"]), "peaks": None if peaks is None else tuple(peaks)})


def _encode_domain(domain: Domain) -> dict[str, Any]:
    values = asdict(domain)
    variation = values.pop("variation")
    if domain.variation != Variation():
        values["switched"] = variation
    return values


def _decode_domain(values: Mapping[str, Any]) -> Domain:
    ranges = {source: Range(**bounds) for source, bounds in values["ranges"].items()}
    return Domain(
        ranges,
        tuple(values["guidance"]),
        values["most_pixels"],
        values.get("most_volume"),
        values.get("area_multiple", 1),
        tuple((height, width) for height, width in values.get("sizes", ())),
        values.get("least_volume"),
        _decode_variation(values.get("switched", {})),
    )


def _decode_variation(values: Mapping[str, Any]) -> Variation:
    enable, interval = values.get("enable", ()), values.get("guidance_interval", ())
    return Variation(tuple(enable), values.get("scheduler"), tuple(interval))
