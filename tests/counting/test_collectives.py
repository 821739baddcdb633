"""A pipeline that is spread over ranks is counted for each rank, with what it communicates, and nobody waits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from diffprof.counting.attention_backends import catch_attention_backends
from diffprof.counting.collectives import catch_collectives
from diffprof.counting.operations.functions import FunctionMode
from diffprof.counting.operations.recorder import OperationRecorder
from diffprof.counting.operations.virtual import VirtualMode
from diffprof.errors import UncountableError
from diffprof.pipelines.patching import Patches

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What each of two ranks says that it counted, by the way in which the pipeline is spread over them."""
    return run_ranks(2, tmp_path_factory.mktemp("ranks"))


def run_ranks(count: int, folder: Path) -> dict[str, list[dict[str, Any]]]:
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.counting.ranks", folder, str(count)],
        cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr.decode()[-2000:]
    found: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(folder.glob("*.json")):
        for way, counted in json.loads(file.read_text()).items():
            found.setdefault(way, []).append(counted)
    return found


@pytest.mark.parametrize("way", ["ulysses", "ring", "tp", "fsdp"])
def test_a_rank_counts_what_it_executes_and_its_image_is_that_of_an_unwatched_run(
    ranks: dict[str, list[dict[str, Any]]], way: str
) -> None:
    assert len(ranks[way]) == 2
    for counted in ranks[way]:
        check_count(counted)


def check_count(counted: dict[str, Any]) -> None:
    assert counted["equal"]
    assert counted["macs"] == counted["executed"]
    assert counted["unknown"] == {} and counted["limitations"] == []


@pytest.mark.extensive
def test_four_ranks_that_combine_both_ways_count_what_they_execute(tmp_path: Path) -> None:
    ranks = run_ranks(4, tmp_path)
    assert len(ranks["unified"]) == 4
    for counted in ranks["unified"]:
        check_count(counted)
        assert counted["macs"] < counted["alone"]


@pytest.mark.parametrize("way", ["ulysses", "ring", "tp"])
def test_ranks_that_share_the_work_do_less_of_it_each(ranks: dict[str, list[dict[str, Any]]], way: str) -> None:
    assert all(counted["macs"] < counted["alone"] for counted in ranks[way])


def test_two_ranks_count_what_each_of_them_communicates(ranks: dict[str, list[dict[str, Any]]]) -> None:
    for counted in ranks["ulysses"]:
        # Query, key, value and result in two blocks and two steps: 56 tokens of 32 floats go out, and as many come in.
        assert counted["collectives"]["all_to_all_single"] == 4 * 2 * 2 * 2 * (56 * 32 * 4)
        assert counted["weight_bytes"] == counted["whole_bytes"]


def test_a_ring_gathers_keys_and_values_of_every_rank(ranks: dict[str, list[dict[str, Any]]]) -> None:
    for counted, without in zip(ranks["ring"], ranks["ulysses"], strict=True):
        # Keys and values of 56 tokens go out and those of 112 come in, in two blocks and two steps. What the
        # transformer gives back is gathered in the same way, with and without a ring.
        of_result = without["collectives"]["all_gather_tensor"]
        assert counted["collectives"]["all_gather_tensor"] - of_result == 2 * 2 * (2 + 4) * (56 * 32 * 4)


def test_weights_that_fsdp_has_spread_are_gathered_in_every_call(ranks: dict[str, list[dict[str, Any]]]) -> None:
    for counted in ranks["fsdp"]:
        assert counted["macs"] == counted["alone"]
        assert counted["parameters"] == counted["whole_parameters"]
        # In two steps, this rank's half of the weights goes out and all of them come in; a half may be rounded up.
        whole = counted["whole_bytes"]
        assert 2 * 1.5 * whole <= counted["collectives"]["all_gather_into_tensor"] < 2 * 1.6 * whole


def test_two_ranks_that_share_the_weights_count_their_parts_of_them(ranks: dict[str, list[dict[str, Any]]]) -> None:
    for counted in ranks["tp"]:
        assert counted["weight_bytes"] == counted["held_bytes"] < counted["whole_bytes"]
        assert counted["collectives"]["all_reduce"] > 0


@pytest.mark.parametrize(("ulysses", "ring"), [(2, 1), (1, 4), (2, 2)])
def test_attention_of_one_rank_is_its_part_of_the_whole(ulysses: int, ring: int) -> None:
    from diffusers.models.attention_dispatch import dispatch_attention_fn

    batch, tokens, heads, size, ranks = 1, 64, 4, 8, ulysses * ring
    context = SimpleNamespace(ulysses_degree=ulysses, ring_degree=ring, _world_size=ranks)
    config: Any = SimpleNamespace(context_parallel_config=context)
    recorder = OperationRecorder()
    mode = VirtualMode(recorder)
    local = torch.empty(batch, tokens // ranks, heads, size, device="meta")
    with Patches() as patches:
        catch_attention_backends(patches, mode)
        with torch.no_grad(), mode, FunctionMode(mode), recorder.component_call("Attention") as call:
            result = dispatch_attention_fn(local, local, local, parallel_config=config)
    cost = call.cost(0)
    assert result.shape == local.shape
    assert cost.work.macs * ranks == 2 * batch * heads * tokens * tokens * size
    moved: Counter[str] = Counter()
    for operation in cost.operations:
        moved[operation.name] += operation.work.moved_bytes
    local_bytes = local.numel() * 4
    assert moved["all_to_all_single"] == (4 * 2 * local_bytes if ulysses > 1 else 0)
    assert moved["all_gather_tensor"] == (2 * local_bytes * (1 + ring) if ring > 1 else 0)


def test_a_mask_of_the_rank_s_own_tokens_is_gathered_from_the_others() -> None:
    from diffusers.models.attention_dispatch import dispatch_attention_fn

    batch, tokens, heads, size, ranks = 1, 64, 4, 8, 2
    context = SimpleNamespace(ulysses_degree=ranks, ring_degree=1, _world_size=ranks)
    recorder = OperationRecorder()
    mode = VirtualMode(recorder)
    local = torch.empty(batch, tokens // ranks, heads, size, device="meta")
    mask = torch.empty(batch, 1, 1, tokens // ranks, device="meta", dtype=torch.bool)
    with Patches() as patches:
        catch_attention_backends(patches, mode)
        with torch.no_grad(), mode, FunctionMode(mode), recorder.component_call("Attention") as call:
            config: Any = SimpleNamespace(context_parallel_config=context)
            dispatch_attention_fn(local, local, local, attn_mask=mask, parallel_config=config)
    gathered = [operation for operation in call.cost(0).operations if operation.name == "all_gather"]
    assert [operation.work.moved_bytes for operation in gathered] == [tokens // ranks + tokens]


class Mesh:
    """Two ranks, of which this is the first."""

    def size(self) -> int:
        return 2

    def get_group(self) -> None:
        return None


@pytest.fixture
def two_ranks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two ranks, as far as this one can tell; who communicates waits forever."""
    distributed: Any = torch.distributed

    def wait(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("the other rank is not there")

    monkeypatch.setattr(distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(distributed, "get_world_size", lambda group=None: 2)
    monkeypatch.setattr(distributed, "get_rank", lambda group=None: 0)
    monkeypatch.setattr(distributed, "get_backend", lambda group=None: "cpu:gloo")
    monkeypatch.setattr(distributed, "all_gather", wait)
    return distributed


def test_sizes_that_ranks_tell_each_other_are_taken_to_be_the_same(two_ranks: Any) -> None:
    from diffusers.hooks.context_parallel import PartitionAnythingSharder
    from diffusers.models._modeling_parallel import gather_size_by_comm

    tokens, mesh = torch.zeros(1, 64, 8), Mesh()
    with Patches() as patches:
        catch_collectives(patches, OperationRecorder())
        assert PartitionAnythingSharder.shard_anything(tokens, 1, mesh).shape == (1, 32, 8)
        assert gather_size_by_comm(32, mesh.get_group()) == [32, 32]
    with pytest.raises(AssertionError, match="the other rank is not there"):
        gather_size_by_comm(32, mesh.get_group())


def test_tokens_in_unequal_parts_are_not_counted(two_ranks: Any) -> None:
    from diffusers.hooks.context_parallel import PartitionAnythingSharder

    tokens, mesh = torch.zeros(1, 65, 8), Mesh()
    with Patches() as patches:
        catch_collectives(patches, OperationRecorder())
        with pytest.raises(UncountableError, match="65 tokens are split into 2 unequal parts"):
            PartitionAnythingSharder.shard_anything(tokens, 1, mesh)
    assert PartitionAnythingSharder.shard_anything(tokens, 1, mesh).shape == (1, 33, 8), "as before"
