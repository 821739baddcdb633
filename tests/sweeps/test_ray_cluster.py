"""A Ray cluster of two nodes gives what this process gives, whatever is lost on the way."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

import diffprof
from diffprof.errors import DiffprofError, MissingLibraryError, RequestError
from diffprof.sweeps.ray_cluster import RayCluster
from diffprof.sweeps.records import Row, Sweep, SweepMeasurement
from tests.sweeps.saved_sweeps import rows_in_process, saved_sweep

EVERY = "all"
"""Accelerators: a point that takes long enough to be interrupted."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one CPU each, both on this machine."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    yield made
    made.shutdown()


def rows_of(cluster: Any, sweep: Sweep, after_first: Any) -> set[Row]:
    with closing(RayCluster(cluster.address)) as engine:
        answers = engine.answers(sweep.tasks())
        outcome = next(answers)
        after_first()
        rows = set(outcome.rows)
        for outcome in answers:
            assert outcome.error is None
            rows |= set(outcome.rows)
    return rows


def kill_workers() -> None:
    """Kill every process that computes or waits to; a node's own agents have such names too, and stay."""
    killed = 0
    for child in psutil.Process().children(recursive=True):
        name = " ".join(child.cmdline())
        if name.startswith(("ray::answer", "ray::IDLE")):
            child.kill()
            killed += 1
    assert killed


def remove_a_node(cluster: Any) -> None:
    """Kill all processes of a node at once; not of the one that this process is connected to."""
    import ray

    own = ray._private.worker.global_worker.node._raylet_socket_name
    node = next(each for each in cluster.worker_nodes if each._raylet_socket_name != own)
    cluster.remove_node(node, allow_graceful=False)


def test_workers_that_are_killed_lose_no_point_and_the_results_are_the_same(cluster: Any, tmp_path: Path) -> None:
    sweep = saved_sweep(tmp_path, models=6, gpus=EVERY)
    assert rows_of(cluster, sweep, kill_workers) == rows_in_process(sweep)


def test_a_node_that_leaves_is_survived(cluster: Any, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=1)
    sweep = saved_sweep(tmp_path, models=6, gpus=EVERY)
    assert rows_of(cluster, sweep, lambda: remove_a_node(cluster)) == rows_in_process(sweep)


def test_more_gpus_than_there_are_is_one_sentence(cluster: Any) -> None:
    with pytest.raises(
        RequestError, match="requests 2 of the cluster's GPUs, and it has 0; take fewer, or 0 to measure"
    ):
        RayCluster(cluster.address, SweepMeasurement(gpus_per_task=2))


def test_without_ray_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingLibraryError, match=r'needs Ray; install it with `pip install "diffprof\[ray\]"`'):
        diffprof.sweep("sdxl", engine="ray")


def test_a_cluster_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(DiffprofError, match=r"Cannot connect to the Ray cluster at 127\.0\.0\.1:1 "):
        RayCluster("127.0.0.1:1")


def test_an_address_that_was_given_is_connected_to_even_if_nothing_is_left_to_be_computed() -> None:
    with pytest.raises(DiffprofError, match=r"Cannot connect to the Ray cluster at 127\.0\.0\.1:1 "):
        diffprof.sweep("sdxl", engine="ray", address="127.0.0.1:1")


def answer_once(server: socket.socket, words: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(1)
        connection.sendall(words)


@pytest.mark.parametrize("words", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_another_server_than_ray_is_one_sentence(words: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer_once, args=(server, words), daemon=True)
        thread.start()
        with pytest.raises(DiffprofError, match=r"Cannot connect to the Ray cluster at .*(not Ray|reset)"):
            RayCluster(f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()


def test_an_address_that_is_none_is_one_sentence() -> None:
    with pytest.raises(RequestError, match="--address must be auto or HOST:PORT, not 'my cluster'"):
        RayCluster("my cluster")
