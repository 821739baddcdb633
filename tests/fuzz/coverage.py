"""``python -m tests.fuzz.coverage trace --seconds 300``: one reader, with inputs kept where they reach new code.

The campaigns change whole files and try every command with them. This one knows which lines an input reached, and so
finds its way past the checks of one format. It needs atheris; everything else of `tests/fuzz` works without.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import struct
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.fuzz.mutation import Mutator, dump

LARGEST_INPUT = 131_072
MEMORY_MEGABYTES = 2_000
SECONDS_PER_INPUT = 20

Read = Callable[[Path], Any]
MISSING = "atheris is not installed: `pip install atheris` in an environment of its own."


def main() -> int:
    """Run one reader until the time is up or an input breaks it."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.coverage", description=__doc__)
    parser.add_argument("reader", choices=sorted(READERS))
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--corpus", type=Path, default=Path("fuzz-corpus"), help="where such inputs are kept")
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"))
    options = parser.parse_args()
    if find_spec("atheris") is None:
        sys.stderr.write(f"{MISSING}\n")
        return 2
    run(options.reader, options.seconds, options.corpus / options.reader, options.failures)
    return 0


def run(name: str, seconds: int, corpus: Path, failures: Path) -> None:
    """Does not return: the library ends the process, with an exit code of its own if an input broke the reader."""
    import atheris

    from diffprof.errors import DiffprofError

    ending, import_reader, samples, change = READERS[name]
    # Only what is imported in here is watched for the lines that are reached.
    with atheris.instrument_imports(include=["diffprof"]):
        read = import_reader()
    corpus.mkdir(parents=True, exist_ok=True)
    failures.mkdir(parents=True, exist_ok=True)
    for number, sample in enumerate(samples()):
        (corpus / f"sample-{number}").write_bytes(sample)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    file = Path(tempfile.mkdtemp(prefix="diffprof-coverage-", dir=memory)) / f"input{ending}"

    def try_input(data: bytes) -> None:
        file.write_bytes(data)
        try:
            read(file)
        except DiffprofError as refused:
            assert str(refused).strip(), "a refusal says why"

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        rng = random.Random(seed)
        changed = change(data, Mutator(rng)) if rng.random() < 0.5 else None
        return atheris.Mutate(data, longest) if changed is None or len(changed) > longest else changed

    limits = [
        f"-max_total_time={seconds}", f"-max_len={LARGEST_INPUT}", f"-rss_limit_mb={MEMORY_MEGABYTES}",
        f"-timeout={SECONDS_PER_INPUT}", f"-artifact_prefix={failures}/{name}-", "-print_final_stats=1",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *limits, str(corpus)], try_input, custom_mutator=mutate)
    atheris.Fuzz()


def _change_bytes(data: bytes, mutator: Mutator) -> bytes | None:
    return mutator.data(data)


def _change_json(data: bytes, mutator: Mutator) -> bytes | None:
    """The value changed, not its text; None where the text is no value any more.

    One change: what is kept is changed again, and several that make it longer would make it gigabytes.
    """
    try:
        return dump(mutator.tree(json.loads(data), changes=1))
    except (ValueError, RecursionError):
        return None


def _change_safetensors(data: bytes, mutator: Mutator) -> bytes | None:
    end = 8 + int.from_bytes(data[:8], "little")
    text = _change_json(data[8:end], mutator)
    return None if text is None else len(text).to_bytes(8, "little") + text + data[end:]


def _change_pickle(data: bytes, mutator: Mutator) -> bytes | None:
    from diffprof.traces.memory.plain_pickle import ForbiddenInstruction, PlainReader

    try:
        return pickle.dumps(mutator.tree(PlainReader(data).read(), changes=1), mutator.rng.choice((0, 2, 4)))
    except (ForbiddenInstruction, ArithmeticError, LookupError, struct.error, ValueError, TypeError, RecursionError):
        return None


def _import_weights() -> Read:
    from diffprof.pipelines.headers.files import read_header
    from diffprof.pipelines.headers.stored_weights import stored_weights

    return lambda file: stored_weights(read_header(file).tensors)


def _safetensors() -> list[bytes]:
    tensors = {"a.weight": {"dtype": "F16", "shape": [2, 4], "data_offsets": [0, 16]}}
    text = dump({"__metadata__": {"format": "pt"}, **tensors})
    return [len(text).to_bytes(8, "little") + text + bytes(16)]


def _gguf() -> list[bytes]:
    from tests.fuzz.folders import gguf_file

    with tempfile.TemporaryDirectory() as place:
        return [gguf_file(Path(place) / "w.gguf")]


def _import_snapshot() -> Read:
    from diffprof.traces.memory.explain import explain_snapshot
    from diffprof.traces.memory.views import snapshot_json

    return lambda file: snapshot_json(explain_snapshot(file))


def _snapshots() -> list[bytes]:
    from tests.traces.memory.test_explain import snapshot

    with tempfile.TemporaryDirectory() as place:
        for failed in (False, True):
            snapshot(Path(place) / f"{failed}.pickle", failed)
        return [file.read_bytes() for file in sorted(Path(place).iterdir())]


def _import_trace() -> Read:
    from diffprof.traces.analysis.explain import explain_trace

    return explain_trace


def _traces() -> list[bytes]:
    from tests.fuzz.subjects import built_trace

    trace = built_trace()
    return [dump(trace), dump({**trace, "traceEvents": trace["traceEvents"][:6]})]


def _import_profile() -> Read:
    from diffprof.record.files import dumps, load

    # What was read can be written, too.
    return lambda file: json.loads(dumps(load(file)))


def _profiles() -> list[bytes]:
    from diffprof.record.files import dumps
    from tests import sample_profiles as samples

    return [dumps(profile).encode() for profile in (samples.nothing(), samples.hostile())]


def _import_history() -> Read:
    from diffprof.record.history import History

    def read(file: Path) -> None:
        history = History(file)
        for run in history.find():
            history.get(run.id)
        _ = history.trend("macs").series

    return read


def _histories() -> list[bytes]:
    import sqlite3

    from tests.record.history.kept_runs import four_runs

    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "history.sqlite"
        four_runs(file)
        connection = sqlite3.connect(file)
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.close()
        return [file.read_bytes()]


Change = Callable[[bytes, Mutator], bytes | None]
READERS: dict[str, tuple[str, Callable[[], Read], Callable[[], list[bytes]], Change]] = {
    "safetensors": (".safetensors", _import_weights, _safetensors, _change_safetensors),
    "gguf": (".gguf", _import_weights, _gguf, _change_bytes),
    "snapshot": (".pickle", _import_snapshot, _snapshots, _change_pickle),
    "trace": (".json", _import_trace, _traces, _change_json),
    "profile": (".json", _import_profile, _profiles, _change_json),
    "history": (".sqlite", _import_history, _histories, _change_bytes),
}
"""How its files end, its function, whole samples of its format, and changes that keep the format."""


if __name__ == "__main__":
    sys.exit(main())
