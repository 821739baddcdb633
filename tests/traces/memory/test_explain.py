"""A memory snapshot is explained by its peak and by whose memory that was."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from diffprof.cli.memory import app
from diffprof.errors import FileFormatError
from diffprof.traces.memory.explain import explain_snapshot

MIB = 1024**2
PLACES = {
    "vae": "/lib/diffusers/models/autoencoders/vae.py",
    "unet": "/lib/diffusers/models/unets/unet_2d_condition.py",
    "clip": "/lib/transformers/models/clip/modeling_clip.py",
}


def frames(place: str, line: int = 7) -> list[dict[str, Any]]:
    return [
        {"filename": "/lib/torch/nn/functional.py", "line": 1, "name": "linear"},
        {"filename": PLACES[place], "line": line, "name": "forward"},
        {"filename": "/lib/diffusers/pipelines/pipeline.py", "line": 2, "name": "__call__"},
    ]


def event(action: str, address: int, mib: int, place: str) -> dict[str, Any]:
    return {"action": action, "addr": address, "size": mib * MIB, "frames": frames(place), "stream": 0}


def snapshot(path: Path, failed: bool = False) -> Path:
    """Weights of 100 MiB stay; a UNet takes 300 and frees them; then a VAE takes 200, of which 50 stay."""
    trace = [
        event("alloc", 2, 300, "unet"),
        event("free_requested", 2, 300, "unet"),
        event("free_completed", 2, 300, "unet"),
        event("alloc", 3, 150, "vae"),
        event("alloc", 4, 50, "vae"),
        event("free_completed", 3, 150, "vae"),
    ]
    if failed:
        trace.append({**event("oom", 0, 400, "vae"), "device_free": 60 * MIB})
    blocks = [
        {"address": 1, "size": 100 * MIB, "state": "active_allocated", "frames": frames("clip")},
        {"address": 2, "size": 300 * MIB, "state": "inactive", "frames": []},
        {"address": 4, "size": 50 * MIB, "state": "active_allocated", "frames": frames("vae")},
        {"address": 9, "size": 110 * MIB, "state": "inactive", "frames": []},
    ]
    segment = {"device": 0, "address": 1, "total_size": 560 * MIB, "blocks": blocks}
    path.write_bytes(pickle.dumps({"segments": [segment], "device_traces": [trace], "allocator_settings": {}}))
    return path


def test_the_peak_is_found_in_the_history_with_its_owners(tmp_path: Path) -> None:
    (device,) = explain_snapshot(snapshot(tmp_path / "s.pickle"))
    assert device.peak_bytes == 400 * MIB
    assert [(share.name, share.held_bytes // MIB) for share in device.owners] == [
        ("denoiser", 300),
        ("text or image encoder", 100),
    ]
    assert device.lines[0].name == "models/unets/unet_2d_condition.py:7 forward"
    assert (device.allocated_bytes, device.reserved_bytes) == (150 * MIB, 560 * MIB)
    assert (device.unused_bytes, device.largest_free_bytes) == (410 * MIB, 300 * MIB)


def test_an_allocation_that_failed_in_pieces_is_explained(tmp_path: Path) -> None:
    path = snapshot(tmp_path / "s.pickle", failed=True)
    (failure,) = explain_snapshot(path)[0].failures
    assert (failure.requested_bytes, failure.free_bytes) == (400 * MIB, 60 * MIB)
    result = CliRunner().invoke(app, [str(path)])
    assert result.exit_code == 0
    words = " ".join(result.output.split())  # as wide as the terminal is
    assert "but in pieces: set" in words and "expandable_segments" in words


def test_the_command_prints_tables_and_json(tmp_path: Path) -> None:
    path = snapshot(tmp_path / "s.pickle")
    text = CliRunner().invoke(app, [str(path)]).output
    assert "419.43 MB allocated at the peak" in text and "denoiser" in text
    assert '"peak_bytes": 419430400' in CliRunner().invoke(app, [str(path), "--json"]).output


@pytest.mark.parametrize("content", [{}, [], {"segments": 3, "device_traces": []}, {"segments": [{}]}, 7])
def test_a_pickle_that_is_no_snapshot_is_refused(content: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(FileFormatError, match="is no memory snapshot of torch"):
        explain_snapshot(path)


@pytest.mark.parametrize("size", [float("inf"), [1], -1, 2**60, "large", None, True])
def test_a_size_that_no_memory_has_is_refused(size: Any, tmp_path: Path) -> None:
    path = snapshot(tmp_path / "s.pickle", failed=True)
    whole = pickle.loads(path.read_bytes())
    for change in (
        lambda values: values["segments"][0]["blocks"][0].update(size=size),
        lambda values: values["segments"][0].update(total_size=size),
        lambda values: values["device_traces"][0][-1].update(size=size),
        lambda values: values["segments"][0].update(device=[size]),
    ):
        content = pickle.loads(pickle.dumps(whole))
        change(content)
        path.write_bytes(pickle.dumps(content))
        with pytest.raises(FileFormatError, match="is no memory snapshot of torch"):
            explain_snapshot(path)
