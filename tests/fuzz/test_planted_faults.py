"""Each fault that the fuzzer is there to find is found: a command with exactly that fault is planted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.children import run_child
from tests.fuzz.campaign import Campaign

PLANTED = {
    "nothing": ("answer(2)", []),
    "its own files": ("(case / 'mine').write_text('x'); (case / 'mine').read_text(); answer(0)", []),
    "a file of the corpus": ("(place / 'corpus' / 'sample').read_text(); answer(0)", []),
    "a bug": ("answer(1, 'diffprof: error: this is a bug in diffprof (KeyError).')", ["bug: "]),
    "an exception": ("raise KeyError('x')", ["exception: "]),
    "a hang": ("burn(); answer(2)", ["hangs: "]),
    "memory": ("kept = bytearray(b'x') * 120_000_000; del kept; answer(2)", ["takes "]),
    "a read beside the folder": ("Path('../outside').read_text(); answer(2)", ["reads outside: "]),
    "a read beside the model": ("(case / 'model' / '../outside').read_text(); answer(2)", ["reads outside: "]),
    "a read of the machine": ("Path('/etc/passwd').read_text(); answer(2)", ["reads outside: "]),
    "a list of the machine": ("os.listdir('/etc'); answer(2)", ["reads outside: "]),
    "a database beside the folder": ("sqlite3.connect('../outside'); answer(2)", ["opens a database outside: "]),
    "a database by its address": (
        "sqlite3.connect(f'file:{place}/outside?mode=ro', uri=True); answer(2)", ["opens a database outside: "],
    ),
    "a write beside the folder": ("Path('../new').write_text('x'); answer(2)", ["writes outside: "]),
    "a write to the corpus": ("(place / 'corpus' / 'sample').write_text('x'); answer(2)", ["writes outside: "]),
    "a removal beside the folder": ("Path('../outside').unlink(); answer(2)", ["os.remove outside: "]),
    "a folder beside the folder": ("Path('../made').mkdir(); answer(2)", ["os.mkdir outside: "]),
    "a foreign import": ("import canary_module; answer(2)", ["foreign import of canary_module"]),
    "code of a file": (
        "exec(compile('1', str(case / 'code.py'), 'exec')); answer(2)", ["code of the case is run: "] * 2,
    ),
    "a pickle": ("pickle.loads(pickle.dumps(Path)); answer(2)", ["pickle asks for "]),
    "a connection": (
        "s = socket.socket(); s.settimeout(0); s.connect_ex(('127.0.0.1', 9)); s.close(); answer(2)",
        ["socket.connect "],
    ),
    "a name that is looked up": ("lookup(); answer(2)", ["socket.getaddrinfo "]),
    "a process": ("os.system('true'); answer(2)", ["os.system "]),
}  # fmt: skip
"""What a command does, and how each problem begins that must be found."""

PROGRAM = """
import json, os, pickle, socket, sqlite3, sys, tempfile
from pathlib import Path
import diffprof.cli
from tests.fuzz import worker
from tests.fuzz.subjects import Subject

planted = json.loads(sys.argv[1])
place = Path(sys.argv[2]).resolve()
case = place / "case"
worker.HARD_MEMORY_BYTES = 10**9
(place / "corpus").mkdir()
(place / "corpus" / "sample").write_text("x")

def burn():
    import time
    end = time.process_time() + 0.5
    while time.process_time() < end:
        pass

def lookup():
    try:
        socket.getaddrinfo("127.0.0.1", 9)
    except OSError:
        pass

class Stop(SystemExit):
    pass

def answer(code, message="diffprof: error: no."):
    sys.stderr.write(message)
    raise Stop(code)

class Planted(Subject):
    name, weight = "planted", 1
    def prepare(self, corpus): ...
    def make(self, mutator, folder):
        (folder / "model").mkdir()
        return [["show", "x"]]

worker._prepare_process(place, False)
watch = worker.watch_over(place)
sys.dont_write_bytecode = True
worker.MEMORY_BYTES = worker.peak_bytes() + 60_000_000
plan = worker.Plan(1, [], (), True, place)
found = {}
for number, (name, code) in enumerate(planted.items()):
    compiled = compile(code, "planted", "exec")
    diffprof.cli.main = lambda: exec(compiled, globals())
    # On a busy machine, each of the others may take many times as long.
    worker.CPU_SECONDS = 0.3 if name == "a hang" else 60
    found[name] = worker.run_case(plan, number, [Planted()], watch)["problems"]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    codes = json.dumps({name: code for name, (code, _) in PLANTED.items()})
    place = tmp_path_factory.mktemp("planted")
    return dict(json.loads(run_child("-c", PROGRAM, codes, place).stdout))


@pytest.mark.parametrize("name", PLANTED)
def test_what_a_file_must_not_cause_is_found(name: str, found: dict[str, list[str]]) -> None:
    expected = PLANTED[name][1]
    assert len(found[name]) == len(expected), found[name]
    for problem, beginning in zip(found[name], expected, strict=True):
        assert problem.startswith(beginning)


DYING = """#!{python}
import json, os, signal, sys
plan = json.loads(sys.argv[3])
for case in range(*plan["cases"], plan["stride"]):
    if case == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    result = {{"case": case, "subject": "x", "commands": [[]], "codes": [0], "problems": [], "seconds": 0, "peak": 0}}
    print(json.dumps(result), flush=True)
"""


def test_a_case_that_ends_its_process_is_found_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = tmp_path / "worker"
    worker.write_text(DYING.format(python=sys.executable), encoding="utf-8")
    worker.chmod(0o755)
    monkeypatch.setattr("tests.fuzz.campaign.sys.executable", str(worker))
    summary = Campaign(1, 0, 5).run(workers=1)
    assert [(failure["case"], failure["problems"]) for failure in summary.failures] == [
        (2, ["the process ended with -9: "])
    ]
    assert summary.cases == {"x": 4, "unknown": 1}
