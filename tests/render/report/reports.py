"""Profiles that reports are made of, hostile and enormous ones too, and how to read a page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache

from diffprof.record.measured import CacheEvent, Sample, SystemPoint
from diffprof.record.profile import Module, ModuleWork, Profile, Work
from diffprof.record.tensors import TensorInput, TensorShape
from tests.sample_iterations import GPU, iteration_on
from tests.sample_profiles import everything_measured, measured_profile

MAX_BYTES = 2_000_000
"""Of any page, however much there is to show."""

SCRIPT = "<script>window.hacked = 1</script>"
ENDING = "</script><script>window.hacked = 2</script>"
PICTURE = '"><img src="http://evil.example/x.png" onerror="window.hacked = 3">'
BOLD = "<b>not bold</b> &lt;i&gt; <a href='http://evil.example'>"


def hostile_everywhere() -> Profile:
    """A measured profile in which every name that a report shows tries to be something else than text."""
    whole = everything_measured()
    unet = whole.components["unet"]
    slot = f"unet{SCRIPT}"
    modules = (Module("", f"Class{SCRIPT}", 0), Module(f"block{SCRIPT}", f"Other{ENDING}", unet.parameters))
    calls = tuple(
        replace(
            call,
            component=slot if call.component == "unet" else call.component,
            inputs=(*call.inputs, TensorInput(PICTURE, (TensorShape((1,)),))),
            cost=replace(
                call.cost,
                operations=tuple(replace(one, name=one.name + ENDING, dtype=BOLD) for one in call.cost.operations),
                attention=tuple(replace(one, module=one.module + BOLD) for one in call.cost.attention),
                modules=(ModuleWork(f"block{SCRIPT}", f"Other{ENDING}", 1, call.cost.work),),
            ),
        )
        for call in whole.calls
    )
    components = {
        (slot if name == "unet" else name): replace(
            part, slot=slot if name == "unet" else name, modules=modules if name == "unet" else part.modules
        )
        for name, part in whole.components.items()
    }
    measured = whole.measured
    assert measured is not None
    return replace(
        whole,
        request=replace(
            whole.request,
            model=f"model{ENDING}",
            pipeline=f"Pipeline{PICTURE}",
            arguments={**whole.request.arguments, "prompt": f"a cat {PICTURE} \udcff\x00", BOLD: SCRIPT},
        ),
        components=components,
        calls=calls,
        steps=replace(
            whole.steps,
            stages=tuple(replace(one, scheduler=BOLD, denoisers=(slot,)) for one in whole.steps.stages),
        ),
        ledger=replace(whole.ledger, assumptions=(ENDING, PICTURE), unknown={BOLD: 3}, known_ops=1),
        measured=replace(
            measured,
            device=replace(measured.device, name=f"GPU {BOLD}", peak_source=SCRIPT),
            iterations=tuple(
                replace(
                    one,
                    samples=tuple(_rename(sample, slot) for sample in one.samples),
                    memory=tuple(replace(point, label=f"{SCRIPT} {point.label}") for point in one.memory),
                    moves=tuple(replace(move, component=slot) for move in one.moves),
                    caches=(*one.caches, CacheEvent("<b>not bold</b>", True, 5, 0, slot, BOLD)),
                    error=one.error and ENDING,
                )
                for one in measured.iterations
            ),
            notes=(SCRIPT, PICTURE),
        ),
    )


def _rename(sample: Sample, slot: str) -> Sample:
    component = slot if sample.component == "unet" else sample.component
    return replace(sample, section=sample.section + SCRIPT, component=component)


def sections(page: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", page)


def words(page: str) -> str:
    """What is read in the page, without its scripts."""
    return re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S))


def chart_data(page: str) -> dict[str, dict[str, object]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return dict(json.loads(found.group(1))["charts"])


@cache
def enormous() -> Profile:
    """Thousands of unlike modules, many steps, and iterations that were watched closely."""
    steps = 60
    whole = measured_profile(
        device=GPU,
        iterations=[iteration_on(GPU, steps=steps, caches=_cache_events(steps)) for _ in range(10)],
        steps=steps,
        system=[SystemPoint(number * 10**7, 50.0, 10**9, gpu_memory_bytes=10**9) for number in range(5_000)],
    )
    paths = [f"{number % 71}.{number % 73}.a{number}" for number in range(4_000)]
    modules = tuple(Module(path, f"Class{number}", number) for number, path in enumerate(paths))
    ran = tuple(ModuleWork(module.path, module.class_name, 1, Work(module.parameters)) for module in modules)
    first = next(call for call in whole.calls if call.component == "unet")
    cost = replace(first.cost, modules=ran)
    calls = tuple(replace(call, cost=cost) if call.component == "unet" else call for call in whole.calls)
    return replace(
        whole, components={**whole.components, "unet": replace(whole.components["unet"], modules=modules)}, calls=calls
    )


def _cache_events(steps: int) -> tuple[CacheEvent, ...]:
    return tuple(CacheEvent(f"cache {number}", True, 5, step, "unet") for step in range(steps) for number in range(5))
