"""Traces for tests, small enough to work out every number by hand: times are in microseconds."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

Event = dict[str, Any]

HOST, THREAD = 100, 101


class TraceBuilder:
    """Builds a trace: each method adds an event as torch.profiler writes it."""

    def __init__(self, **metadata: Any) -> None:
        self.metadata: dict[str, Any] = {"schemaVersion": 1, "cuda_runtime_version": 12040, **metadata}
        self.events: list[Event] = []
        self._correlation = 0

    def op(self, name: str, start: float, end: float, **args: Any) -> None:
        self._host("cpu_op", name, start, end, args)

    def python(self, name: str, start: float, end: float, **args: Any) -> None:
        self._host("python_function", name, start, end, args)

    def section(self, name: str, start: float, end: float) -> None:
        self._host("user_annotation", name, start, end, {})

    def call(self, name: str, start: float, end: float, thread: int = THREAD) -> int:
        """A runtime call; its correlation is what it launches."""
        self._correlation += 1
        self._host("cuda_runtime", name, start, end, {"correlation": self._correlation}, thread)
        return self._correlation

    def gpu(
        self,
        name: str,
        start: float,
        end: float,
        correlation: int = 0,
        *,
        category: str = "kernel",
        device: int = 0,
        stream: int = 7,
        **args: Any,
    ) -> None:
        args = {"device": device, "stream": stream, "correlation": correlation, **args}
        self._add(category, name, device, stream, start, end, args)

    def kernel(
        self, name: str, start: float, end: float, launched: float, took: float = 2, thread: int = THREAD, **more: Any
    ) -> None:
        """A kernel and the call that launched it."""
        self.gpu(name, start, end, self.call("cudaLaunchKernel", launched, launched + took, thread), **more)

    def copy(self, name: str, start: float, end: float, launched: float, took: float = 2, **more: Any) -> None:
        """A copy and the call that asked for it."""
        call = self.call("cudaMemcpyAsync", launched, launched + took)
        self.gpu(name, start, end, call, category="gpu_memcpy", **more)

    def memory(self, time: float, allocated: int, reserved: int = 0, device_type: int = 1, device: int = 0) -> None:
        args = {
            "Total Allocated": allocated,
            "Total Reserved": reserved,
            "Device Type": device_type,
            "Device Id": device,
        }
        self.events.append(
            {
                "ph": "i",
                "cat": "cpu_instant_event",
                "name": "[memory]",
                "pid": HOST,
                "tid": THREAD,
                "ts": time,
                "args": args,
            }
        )

    def text(self) -> str:
        return json.dumps({**self.metadata, "traceEvents": self.events})

    def write(self, path: Path) -> Path:
        data = self.text().encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return path

    def _host(
        self, category: str, name: str, start: float, end: float, args: dict[str, Any], thread: int = THREAD
    ) -> None:
        self._add(category, name, HOST, thread, start, end, args)

    def _add(
        self, category: str, name: str, process: int, thread: int, start: float, end: float, args: dict[str, Any]
    ) -> None:
        event = {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": start}
        self.events.append({**event, "dur": round(end - start, 3), "args": args})


def two_denoising_steps() -> TraceBuilder:
    """A pipeline of two steps on one GPU, with one of everything: the console's golden output is of it."""
    builder = TraceBuilder(
        deviceProperties=[{"id": 0, "name": "NVIDIA H100"}],
        baseTimeNanoseconds=1_700_000_000_000_000_000,
        record_shapes=1,
    )
    builder.section("ProfilerStep#1", 0, 1000)
    builder.python("pipelines/pipeline_x.py(10): __call__", 0, 1000)
    builder.python("transformers/tokenization.py(5): encode", 5, 95)
    builder.copy("Memcpy HtoD (Pageable -> Device)", 110, 150, launched=100, took=55, bytes=4_000_000)
    for begin in (200, 600):
        builder.section("transformer_forward", begin, begin + 150)
        builder.python("models/transformer.py(20): forward", begin, begin + 150)
        builder.op("aten::mm", begin + 10, begin + 20)
        builder.kernel("ampere_bf16_s16816gemm_bf16_128x128", begin + 20, begin + 120, launched=begin + 12)
        builder.op("aten::scaled_dot_product_attention", begin + 30, begin + 50)
        builder.op(
            "aten::_scaled_dot_product_flash_attention",
            begin + 32,
            begin + 48,
            **{"Input Dims": [[1, 24, 4096, 64]] * 3, "Input type": ["c10::BFloat16"] * 3},
        )
        builder.kernel("pytorch_flash::flash_fwd_kernel<64>", begin + 120, begin + 180, launched=begin + 40)
        builder.python("diffusers/schedulers/scheduling_euler.py(9): step", begin + 160, begin + 190)
        builder.op("aten::item", begin + 162, begin + 184)
        builder.call("cudaStreamSynchronize", begin + 164, begin + 182)
        builder.op("aten::add", begin + 184, begin + 189)
        builder.kernel("vectorized_elementwise_kernel<4, add>", begin + 190, begin + 200, launched=begin + 186)
        builder.memory(begin + 195, 1_000_000_000, 2_000_000_000)
    builder.copy("Memcpy DtoH (Device -> Pageable)", 900, 920, launched=890, took=40, bytes=2_000_000)
    return builder
