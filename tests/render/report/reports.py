"""Profiles whose names all try to be markup, and others that reports are made of."""

from __future__ import annotations

from dataclasses import replace

from diffprof.record.measured import CacheEvent, Sample
from diffprof.record.profile import Module, ModuleWork, Profile
from diffprof.record.tensors import TensorInput, TensorShape
from tests.profiles_made_by_hand import everything_measured

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
                    samples=tuple(_renamed(sample, slot) for sample in one.samples),
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


def _renamed(sample: Sample, slot: str) -> Sample:
    component = slot if sample.component == "unet" else sample.component
    return replace(sample, section=sample.section + SCRIPT, component=component)
