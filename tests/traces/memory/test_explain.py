"""A memory snapshot is explained by its peak and by whose memory that was."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from diffprof.cli.commands.memory import app
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


@pytest.mark.parametrize("content", [{}, [3], {"segments": 3, "device_traces": []}, {"segments": [{}]}, 7])
def test_a_pickle_that_is_no_snapshot_is_refused(content: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(FileFormatError, match="is not a memory snapshot of torch"):
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
        with pytest.raises(FileFormatError, match="is not a memory snapshot of torch"):
            explain_snapshot(path)


def labelled(action: str, address: int, mib: int, label: str | dict[str, str]) -> dict[str, Any]:
    return {**event(action, address, mib, "unet"), "user_metadata": label, "time_us": 7, "pool_id": (0, 0)}


def test_whose_memory_it_was_is_told_by_labels_and_by_the_addresses_of_weights(tmp_path: Path) -> None:
    trace = [
        labelled("segment_map", 1, 400, ""),
        labelled("alloc", 1, 100, ""),
        labelled("alloc", 2, 200, "unet.down_blocks.0.attentions.1"),
        labelled("snapshot", 0, 0, ""),
        labelled("alloc", 3, 30, {"pool": "buffers"}),
        {**labelled("oom", 0, 900, "vae.decoder.conv_in"), "device_free": 60 * MIB},
        labelled("free_requested", 2, 200, ""),
        labelled("free_completed", 2, 200, ""),
        labelled("segment_unmap", 1, 400, ""),
    ]
    blocks = [
        {"address": address, "size": mib * MIB, "requested_size": mib * MIB, "state": "active_allocated", "frames": []}
        for address, mib in ((1, 100), (3, 30))
    ]
    segment = {"device": 0, "address": 1, "total_size": 400 * MIB, "is_expandable": True, "blocks": blocks}
    content = {
        "segments": [segment],
        "device_traces": [trace],
        "allocator_settings": {"expandable_segments": True, "roundup_power2_divisions": {"1": 0}, "ratio": 0.5},
        "external_annotations": [],
        "diffprof_weights": {1: "unet.conv_in.weight"},
    }
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps(content))
    (device,) = explain_snapshot(path)
    assert device.peak_bytes == 330 * MIB
    assert [(share.name, share.held_bytes // MIB) for share in device.modules] == [
        ("unet.down_blocks.0.attentions.1", 200),
        ("unet.conv_in.weight", 100),
        ("{'pool': 'buffers'}", 30),
    ]
    assert (device.owners[0].name, device.owners[0].held_bytes) == ("unet", 300 * MIB)
    (failure,) = device.failures
    assert failure.module == "vae.decoder.conv_in"
    assert failure.allocated_bytes == 330 * MIB
    assert [share.held_bytes // MIB for share in failure.before] == [30, 200, 100]
    words = " ".join(CliRunner().invoke(app, [str(path)]).output.split())
    assert "in vae.decoder.conv_in, with 346.03 MB allocated" in words and "Allocated just before: 31.46 MB" in words


def test_without_labels_a_module_is_the_function_of_a_model(tmp_path: Path) -> None:
    (device,) = explain_snapshot(snapshot(tmp_path / "s.pickle"))
    assert [share.name for share in device.modules] == ["unet_2d_condition.forward", "modeling_clip.forward"]
    assert device.stacks[0].name == (
        "models/unets/unet_2d_condition.py:7 forward < diffusers/pipelines/pipeline.py:2 __call__"
    )


def test_snapshots_of_torch_before_2_1_have_blocks_without_addresses(tmp_path: Path) -> None:
    history = [{"addr": 64, "frames": frames("vae"), "real_size": MIB}]
    blocks = [
        {"size": MIB, "state": "inactive"},
        {"size": MIB, "state": "active_allocated", "history": history},
    ]
    segment = {"device": 0, "address": 4 * MIB, "total_size": 2 * MIB, "blocks": blocks}
    trace = [
        event("alloc", 5 * MIB, 1, "vae"),
        event("alloc", 4 * MIB, 1, "unet"),
        event("free_completed", 4 * MIB, 1, "unet"),
    ]
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"segments": [segment], "device_traces": [trace]}, protocol=2))
    (device,) = explain_snapshot(path)
    assert (device.peak_bytes, device.allocated_bytes) == (2 * MIB, MIB)
    assert [share.name for share in device.owners] == ["denoiser", "vae"]


def test_a_list_of_segments_is_explained_too(tmp_path: Path) -> None:
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps([{"device": 1, "address": 0, "total_size": MIB, "blocks": []}]))
    (device,) = explain_snapshot(path)
    assert (device.device, device.reserved_bytes, device.has_history) == (1, MIB, False)


def test_a_snapshot_is_written_as_a_page(tmp_path: Path) -> None:
    page = tmp_path / "memory.html"
    answer = CliRunner().invoke(app, [str(snapshot(tmp_path / "s.pickle")), "--html", str(page)])
    assert answer.exit_code == 0, answer.output
    assert "reserved and not in use" in page.read_text()


def doubled(kind: Callable[[list[Any]], Any], times: int = 80) -> Any:
    """A container that holds one twice that holds one twice...: small as a file, and without end as a text or a key."""
    value = kind([])
    for _ in range(times):
        value = kind([value, value])
    return value


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize(
    "place", ["device", "addr", "user_metadata", "action", "filename", "line", "name", "address", "state", "weight"]
)
def test_containers_that_hold_each_other_without_end_are_refused_or_cut_short_at_once(
    place: str, kind: Callable[[list[Any]], Any], tmp_path: Path
) -> None:
    bomb = doubled(kind)
    frame: dict[str, Any] = {"filename": PLACES["vae"], "line": 7, "name": "forward"}
    block: dict[str, Any] = {"address": 1, "size": MIB, "state": "active_allocated", "frames": [frame]}
    segment: dict[str, Any] = {"device": 0, "address": 1, "total_size": MIB, "blocks": [block]}
    made: dict[str, Any] = {"action": "alloc", "addr": 1, "size": MIB, "frames": [frame]}
    content: dict[str, Any] = {"segments": [segment], "device_traces": [[made]], "diffprof_weights": {1: "unet"}}
    owners: dict[str, list[dict[Any, Any]]] = {
        "device": [segment], "addr": [made], "user_metadata": [made], "action": [made], "state": [block],
        "address": [block],
    }  # fmt: skip
    if place == "weight":
        content["diffprof_weights"][1] = bomb
    for owner in owners.get(place, [frame] if place != "weight" else []):
        owner[place] = bomb
    file = tmp_path / "s.pickle"
    file.write_bytes(pickle.dumps(content))
    if place in ("device", "addr", "address", "state"):
        with pytest.raises(FileFormatError, match="not a memory snapshot"):
            explain_snapshot(file)
    else:
        (device,) = explain_snapshot(file)
        assert device.peak_bytes == MIB
        assert all(len(share.name) < 200 for share in (*device.modules, *device.lines, *device.stacks))


def test_one_list_of_blocks_that_is_named_again_and_again_is_refused(tmp_path: Path) -> None:
    blocks = [{"address": 1, "size": 1, "state": "inactive"}] * 10_000
    segments = [{"device": 0, "total_size": 1, "blocks": blocks}] * 10_000
    file = tmp_path / "s.pickle"
    file.write_bytes(pickle.dumps({"segments": segments}))
    with pytest.raises(FileFormatError, match="not a memory snapshot"):
        explain_snapshot(file)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_snapshot_with_all_that_torch_writes_is_read_in_every_protocol(protocol: int, tmp_path: Path) -> None:
    """As ``torch.cuda.memory._snapshot`` documents and its C++ code fills it, on the second of two devices."""
    stack = frames("unet")  # shared by all that were allocated there
    made = {"stream": 0, "time_us": 1_700_000_000_000_000, "pool_id": (0, 0), "frames": stack, "compile_context": "N/A"}
    base = 0x7F0000000000
    trace = [
        {"action": "segment_map", "addr": base, "size": 20 * MIB, **made},
        {"action": "alloc", "addr": base, "size": 8 * MIB, "user_metadata": "unet.mid_block", **made},
        {"action": "alloc", "addr": base + 8 * MIB, "size": 4 * MIB, "user_metadata": "", **made},
        {"action": "free_requested", "addr": base, "size": 8 * MIB, **made},
        {"action": "free_completed", "addr": base, "size": 8 * MIB, **made},
        {"action": "oom", "device_free": 3 * MIB, "size": 64 * MIB, **made},
        {"action": "snapshot", "addr": 0, "size": 0, **made},
    ]
    blocks = [
        {"address": base, "size": 8 * MIB, "requested_size": 0, "state": "inactive", "frames": []},
        {"address": base + 8 * MIB, "size": 4 * MIB, "requested_size": 4 * MIB, "state": "active_pending_free",
         "frames": stack},
        {"address": base + 12 * MIB, "size": 8 * MIB, "requested_size": 0, "state": "inactive", "frames": []},
    ]  # fmt: skip
    segment = {
        "device": 1, "address": base, "total_size": 20 * MIB, "allocated_size": 0, "active_size": 4 * MIB,
        "requested_size": 4 * MIB, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
        "is_expandable": True, "frames": stack, "blocks": blocks,
    }  # fmt: skip
    settings = {
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "max_split_size": -1,
        "garbage_collection_threshold": 0.0, "expandable_segments": True, "roundup_power2_divisions": {"1": 0, "2": 0},
    }  # fmt: skip
    content = {
        "segments": [segment], "device_traces": [[], trace], "allocator_settings": settings,
        "external_annotations": [{"stage": "START", "name": "step", "device": 1, "time_us": 5}],
    }  # fmt: skip
    file = tmp_path / "s.pickle"
    file.write_bytes(pickle.dumps(content, protocol))
    (device,) = explain_snapshot(file)
    assert (device.device, device.peak_bytes, device.has_history) == (1, 12 * MIB, True)
    assert {share.name: share.held_bytes for share in device.modules} == {
        "unet.mid_block": 8 * MIB, "unet_2d_condition.forward": 4 * MIB
    }  # fmt: skip
    (failure,) = device.failures
    assert (failure.requested_bytes, failure.free_bytes, failure.allocated_bytes) == (64 * MIB, 3 * MIB, 4 * MIB)
