"""Run tasks of a sweep on a Ray cluster, which schedules them and retries those of a lost worker or node.

Every node needs the same version of diffprof.
"""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Iterable, Iterator
from typing import Any

from diffprof.errors import DiffprofError, MissingLibraryError, RequestError, error_summary
from diffprof.sweeps.records import SweepMeasurement, Task, TaskOutcome
from diffprof.sweeps.worker import answer, read_answer

RETRIES = 3
"""How often Ray retries a task whose worker is lost."""

WAITING_FOR_EACH = 4
"""Pending tasks per CPU: enough to keep the cluster busy, and few enough for sweeps of any length."""

CONNECTION_SECONDS = 10.0

HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)
"""The first bytes of a client: a fixed text and an empty SETTINGS frame (RFC 9113, section 3.4)."""

FRAME_KIND, HTTP2_SETTINGS = 3, b"\x04"
"""Where a frame says what it is, and what one of settings says."""


class RayCluster:
    """A connection to a Ray cluster, or to a local one if no address is given."""

    def __init__(self, address: str | None = None, measurement: SweepMeasurement | None = None) -> None:
        self._ray = import_ray()
        self._is_ours = not self._ray.is_initialized()
        if self._is_ours:
            self._connect(address)
        self._gpus = self._gpus_for_each(measurement)
        self._measures = measurement is not None

    def answers(self, tasks: Iterable[Task]) -> Iterator[TaskOutcome]:
        """Yield the outcome of every task as it becomes ready."""
        remote = self._ray.remote(
            max_retries=RETRIES, num_cpus=1, num_gpus=self._gpus, max_calls=1 if self._measures else 0
        )(answer)
        most = max(WAITING_FOR_EACH, WAITING_FOR_EACH * int(self._resource("CPU")))
        waiting: dict[Any, Task] = {}
        for task in tasks:
            waiting[remote.remote(task.to_json())] = task
            if len(waiting) >= most:
                yield self._next(waiting)
        while waiting:
            yield self._next(waiting)

    def close(self) -> None:
        """Disconnect from the cluster, unless the caller was already connected."""
        if self._is_ours:
            self._ray.shutdown()

    def _next(self, waiting: dict[Any, Task]) -> TaskOutcome:
        (ready, *_), _ = self._ray.wait(list(waiting), num_returns=1)
        task = waiting.pop(ready)
        try:
            return read_answer(task, self._ray.get(ready))
        except self._ray.exceptions.RayError as error:
            return TaskOutcome(task, error=f"Ray lost this point ({error_summary(error)})")

    def _connect(self, address: str | None) -> None:
        # No usage statistics are sent, unless the user enables them.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        address = address or os.environ.get("RAY_ADDRESS")
        try:
            if address is not None and address not in ("auto", "local"):
                _check_reachable(address)
            dashboard = {"include_dashboard": False} if address in (None, "local") else {}
            self._ray.init(address=address, log_to_driver=False, logging_level="error", **dashboard)
        except (OSError, RuntimeError, ValueError) as error:
            where = f"the Ray cluster at {address}" if address else "a local Ray cluster"
            raise DiffprofError(
                f"Cannot connect to {where} ({error_summary(error)}); check it with `ray status`, "
                "or leave out --engine ray to run the sweep here."
            ) from error

    def _gpus_for_each(self, measurement: SweepMeasurement | None) -> float:
        there = self._resource("GPU")
        if measurement is None:
            return 0.0
        requested = measurement.gpus_per_task
        if requested is None:
            return 1.0 if there else 0.0
        if requested > there:
            self.close()
            raise RequestError(
                f"--gpus-per-task requests {requested:g} of the cluster's GPUs, and it has {there:g}; "
                "take fewer, or 0 to measure on CPUs."
            )
        return requested

    def _resource(self, name: str) -> float:
        return float(self._ray.cluster_resources().get(name, 0.0))


def _check_reachable(address: str) -> None:
    """Fail within seconds if no Ray cluster listens; Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal() or not host:
        raise RequestError(f"--address must be auto or HOST:PORT, not {address!r}.")
    with socket.create_connection((host.strip("[]"), int(port)), CONNECTION_SECONDS) as connection:
        if os.environ.get("RAY_USE_TLS", "0") == "0":
            _check_protocol(connection)


def _check_protocol(connection: socket.socket) -> None:
    """Check that the server uses HTTP/2, as Ray's gRPC does: it must start with a SETTINGS frame."""
    connection.settimeout(CONNECTION_SECONDS)
    connection.sendall(HTTP2_PREFACE)
    answer = b""
    while len(answer) <= FRAME_KIND:
        received = connection.recv(FRAME_KIND + 1 - len(answer))
        if not received:
            break
        answer += received
    if answer[FRAME_KIND:] != HTTP2_SETTINGS:
        raise ConnectionError("what listens there is not Ray")


def import_ray() -> Any:
    """Import Ray; a `RequestError` if it is not installed."""
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise MissingLibraryError(
            'A sweep on a cluster needs Ray; install it with `pip install "diffprof[ray]"`, or leave --engine out.'
        ) from error
