"""Answers as files: what was saved is what is read, and what is no such file is refused in a sentence."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from diffprof.errors import FileFormatError
from diffprof.record import results
from diffprof.record.fit import Fit, HostMemory, MemoryPeak, StageMemory
from diffprof.record.prediction import PredictedTime, Prediction
from diffprof.record.run_settings import RunSettings

PEAK = MemoryPeak(10, 20, 30, "decode", "vae", "decoder")
FIT = Fit(
    "sdxl", PEAK, (StageMemory("decode", "vae", "decoder", 10, 20, 30, {"vae": 4}),), HostMemory(5, 1, 5), True,
    settings=RunSettings(offload="model", quantize={"unet": "torchao:int8"}),
)  # fmt: skip
TIME = PredictedTime(2.5, 2.0, 3.0, 1.0, 0.1, {}, "compute", None, None, None, {"linear": 2.5})


@pytest.mark.parametrize("answer", [FIT, Prediction("sdxl", RunSettings(), {"l4": TIME}, ("one",))])
def test_what_was_saved_is_what_is_read(answer: results.Result, tmp_path: Path) -> None:
    path = answer.save(tmp_path / "answer.json")
    assert type(answer).load(path) == answer
    assert json.loads(path.read_text())["format"] == {"name": answer.format_name, "version": 1}


def test_a_file_of_an_earlier_version_has_no_request(tmp_path: Path) -> None:
    values = FIT.to_dict()
    del values["request"], values["execution"]
    path = tmp_path / "fit.json"
    path.write_text(json.dumps(values))
    assert Fit.load(path) == FIT and Fit.load(path).request is None


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "it is not valid JSON"),
        (b"[" * 100_000, "it is not valid JSON"),
        (b"[]", "is not a file of `diffprof fit MODEL`"),
        (b'{"format": {"name": "diffprof-fit", "version": 2}}', "is not a file of `diffprof fit MODEL`"),
        (b'{"format": {"name": "diffprof-prediction", "version": 1}}', "make one with `diffprof fit MODEL -o"),
        (b'{"format": {"name": "diffprof-fit", "version": 1}, "model": 3}', "model"),
    ],
)
def test_what_is_no_such_file_is_refused(content: bytes, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=sentence) as refusal:
        Fit.load(path)
    assert str(path) in str(refusal.value) and "\n" not in str(refusal.value)


def test_a_file_that_is_not_there_or_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileFormatError, match="No such file"):
        Fit.load(tmp_path / "none.json")
    monkeypatch.setattr(results, "MAX_FILE_BYTES", 100)
    with pytest.raises(FileFormatError, match="larger than any file"):
        Fit.load(FIT.save(tmp_path / "fit.json"))


def test_a_report_is_what_the_page_of_its_class_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pages", SimpleNamespace(html=lambda fit: f"<p>{fit.model}</p>"))  # type: ignore[arg-type]
    monkeypatch.setattr(Fit, "page", "pages:html")
    assert FIT.report(tmp_path / "fit.html").read_text() == "<p>sdxl</p>"
