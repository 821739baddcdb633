"""Write a diffusers program for a request and its settings, as lines of Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from diffprof.advice.commands import is_plain
from diffprof.advice.literals import literal
from diffprof.advice.loading_code import LoadingCode, entry_of, required_arguments
from diffprof.advice.prompt_code import ENCODED as ENCODED
from diffprof.advice.prompt_code import ENCODES_WITH_DENOISER, PromptCode
from diffprof.prediction.cast_weights import kept_on_device
from diffprof.prediction.weights import compute_dtype, is_quantized_on_device
from diffprof.record.inputs import ImageSize, VideoSize, recorded_input
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings

STEP_CACHE = "FirstBlockCacheConfig"
GUIDED_UNTIL = {
    "StableDiffusionPipeline": ("prompt_embeds",),
    "StableDiffusionXLPipeline": ("prompt_embeds", "add_text_embeds", "add_time_ids"),
    "WanPipeline": (),
}
"""Pipelines whose guidance a callback can end, with the tensors of which it keeps half of the batch."""

FREEU = "s1=0.9, s2=0.2, b1=1.2, b2=1.4"
"""FreeU's four factors have no defaults; these are its authors' values, with which it is counted."""

STAND_INS = ("class_labels",)
"""Arguments that a call needs, besides prompts, images and videos; a count stands in for them."""

TASK_INPUTS = {
    "image-to-video": ("image",), "image-to-image": ("image",), "image-editing": ("image",), "upscaling": ("image",),
    "control": ("control_image",), "inpainting": ("image", "mask_image"), "video-editing": ("video",),
}  # fmt: skip
"""The inputs that a pipeline needs for a task, besides a prompt."""


def program(profile: Profile, request: Request, settings: RunSettings) -> tuple[str, ...]:
    """The lines of the program; `settings` refer to the components of the profile."""
    return tuple(_Program(profile, request, settings).lines())


class _Program:
    def __init__(self, profile: Profile, request: Request, settings: RunSettings) -> None:
        self.profile, self.request, self.settings = profile, request, settings
        self.denoisers = [slot for slot, part in profile.components.items() if part.role == "denoiser"]
        self.imports: dict[str, list[str]] = {"diffusers": [profile.request.pipeline]}
        self.inputs: list[str] = []
        """Lines that load images and videos."""

    def lines(self) -> Iterator[str]:
        body = [*self._load_lines(), *self._switches(), *self._place_lines(), *self._call_lines()]
        yield "import torch"
        for module in sorted(self.imports):
            yield f"from {module} import {', '.join(dict.fromkeys(self.imports[module]))}"
        yield ""
        yield from body

    def _import(self, module: str, name: str) -> str:
        self.imports.setdefault(module, []).append(name)
        return name.rpartition(" as ")[2]

    def _load_lines(self) -> Iterator[str]:
        settings = self.settings
        if self._prompt is not None and self._late:
            yield from self._early_lines(self._prompt)
            encoders = dict.fromkeys(self._encoders)
            kept = {slot: kind for slot, kind in settings.quantize.items() if slot not in encoders}
            settings = replace(settings, without=(*settings.without, *encoders), quantize=kept)
        yield from LoadingCode(self.profile, self.request, settings, self._import).lines()
        if self.request.scheduler:
            stage = self.profile.steps.main
            # A request may have a short name, such as unipc.
            is_counted = stage is not None and self.profile.request.scheduler == self.request.scheduler
            name = stage.scheduler if stage is not None and is_counted else self.request.scheduler
            yield f"pipe.scheduler = {self._import('diffusers', name)}.from_config(pipe.scheduler.config)"

    def _switches(self) -> Iterator[str]:
        for switch in self.request.enable:
            part, _, name = switch.rpartition("vae_")
            own = f"pipe.enable_{part or switch}({FREEU if switch == 'freeu' else ''})"
            yield f"pipe.vae.enable_{name}()" if "vae_" in switch else own
        for slot, dtype in self.settings.layerwise.items():
            computed = compute_dtype(self.profile.components[slot])
            yield (f"pipe.{slot}.enable_layerwise_casting(storage_dtype=torch.{dtype}, compute_dtype=torch.{computed})")
        if self.settings.skip_rate:
            name = self._import("diffusers", STEP_CACHE)
            yield f"# raise or lower the threshold until {self.settings.skip_rate:.0%} of the steps are skipped"
            yield from (f"pipe.{slot}.enable_cache({name}(threshold=0.1))" for slot in self.denoisers)

    def _place_lines(self) -> Iterator[str]:
        settings = self.settings
        if settings.devices > 1:
            config = self._import("diffusers", "ContextParallelConfig")
            yield f"# start it with: torchrun --nproc-per-node {settings.devices} FILE.py"
            yield 'torch.distributed.init_process_group("nccl")'
            yield "torch.cuda.set_device(torch.distributed.get_rank())"
            yield 'pipe.to("cuda")'
            yield from (
                f"pipe.{slot}.enable_parallelism(config={config}(ulysses_degree={settings.devices}))"
                for slot in self.denoisers
            )
        elif self._prompt is not None and not self._late:
            yield from self._encoding_lines(self._prompt)
        else:
            if settings.drop_text_encoders and self._prompt is None:
                yield "# encode the prompt first, with the text encoders alone on the device, and delete them:"
                yield f"# the results of {self.profile.request.pipeline}.encode_prompt are arguments of the call"
            yield 'pipe.to("cuda")' if settings.offload == "none" else self._offload_line()
        if settings.compiled:
            yield from (f"pipe.{slot}.compile()" for slot in self.denoisers)

    @cached_property
    def _prompt(self) -> PromptCode | None:
        """The code that encodes the prompt, if text encoders are dropped and it is known."""
        pipeline = self.profile.request.pipeline
        if not self.settings.drop_text_encoders or pipeline not in ENCODED:
            return None
        scales = [self.profile.request.value(name) for name in ("guidance_scale", "true_cfg_scale")]
        is_guided = any(not isinstance(scale, int | float) or scale > 1 for scale in scales)
        return PromptCode(pipeline, self._plain_arguments(), is_guided)

    @cached_property
    def _encoders(self) -> list[str]:
        encoders = [slot for slot, part in self.profile.components.items() if part.role == "text_encoder"]
        return [slot for slot in encoders if slot not in self.settings.without]

    @cached_property
    def _late(self) -> tuple[str, ...]:
        """Quantized components to load once the text encoders are gone, because bitsandbytes loads on the device."""
        packed = [slot for slot in self.settings.quantize if slot not in self._encoders]
        is_on_device = any(is_quantized_on_device(self.settings.quantize[slot]) for slot in packed)
        return tuple(packed) if is_on_device and self._prompt is not None else ()

    def _early_lines(self, prompt: PromptCode) -> Iterator[str]:
        """Load the pipeline without what is loaded later, encode the prompt, and delete it."""
        settings, late = self.settings, self._late
        kept = {slot: kind for slot, kind in settings.quantize.items() if slot not in late}
        left_out = () if self.profile.request.pipeline in ENCODES_WITH_DENOISER else late
        early = replace(settings, without=(*settings.without, *left_out), quantize=kept)
        yield f"# {' and '.join(late)} would be on the device from loading on: the prompt is encoded before"
        yield from LoadingCode(self.profile, self.request, early, self._import).lines(with_adapters=False)
        yield from self._on_device(prompt)
        yield "del pipe"
        yield "torch.cuda.empty_cache()"

    def _encoding_lines(self, prompt: PromptCode) -> Iterator[str]:
        """Encode the prompt with only the text encoders on the device, and delete them."""
        yield from self._on_device(prompt)
        yield f"{' = '.join(f'pipe.{slot}' for slot in self._encoders)} = None"
        yield "torch.cuda.empty_cache()"
        if self.settings.offload == "none":
            yield 'pipe.to("cuda")'

    def _on_device(self, prompt: PromptCode) -> Iterator[str]:
        """Encode the prompt with the text encoders on the device."""
        if self.settings.offload == "none":
            yield from (f'pipe.{slot}.to("cuda")' for slot in self._encoders)
        else:
            yield self._offload_line()
        yield "with torch.no_grad():"
        yield from (f"    {line}" for line in prompt.lines())

    def _offload_line(self) -> str:
        settings = self.settings
        if settings.offload in ("model", "sequential"):
            return f"pipe.enable_{settings.offload}_cpu_offload()"
        level, blocks = "leaf_level", ""
        if settings.offload == "group":
            level, blocks = "block_level", f", num_blocks_per_group={settings.blocks_per_group}"
        # What the pipeline casts to float32 would come back in float16 from a stream.
        kept = list(kept_on_device(self.profile, settings))
        excluded = f", exclude_modules={literal(kept)}" if kept else ""
        return (
            f'pipe.enable_group_offload(torch.device("cuda"), offload_type="{level}"{blocks}, '
            f"use_stream={settings.use_stream}{excluded})"
        )

    def _call_lines(self) -> Iterator[str]:
        given: dict[str, str] = {}
        if self._prompt is not None:
            given = self._prompt.call_arguments()
        else:
            if "prompt" not in self._arguments and self._takes_prompt:
                given["prompt"] = literal("a cat")
            given |= {name: literal(value) for name, value in self._plain_arguments().items()}
        given |= dict(self._other_arguments())
        yield from self._guidance_lines(given)
        yield from self.inputs
        yield f"result = pipe({', '.join(f'{name}={text}' for name, text in given.items())})"

    def _guidance_lines(self, given: dict[str, str]) -> Iterator[str]:
        """End the guidance in the middle of the call, with a callback that is added to its arguments."""
        pipeline, interval = self.profile.request.pipeline, self.request.changes.guidance_interval
        if not interval:
            return
        if pipeline not in GUIDED_UNTIL or interval[0] > 0:
            share = f"from {interval[0]:.0%} to {interval[1]:.0%} of the steps"
            yield f"# guidance {share}: {pipeline} has no option for it"
            return
        tensors = GUIDED_UNTIL[pipeline]
        yield from _guidance_callback(interval[1], tensors)
        given["callback_on_step_end"] = "end_guidance"
        if tensors:
            given["callback_on_step_end_tensor_inputs"] = literal(list(tensors))

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        """The arguments of the call: required ones, recommended ones, and those that were asked for."""
        asked = self.profile.request
        recommended = {name: asked.arguments[name] for name in asked.recommended if name in asked.arguments}
        required = {name: asked.defaults[name] for name in STAND_INS if asked.defaults.get(name) is not None}
        given = {**required, **required_arguments(self.request), **recommended, **self.request.arguments}
        return {name: recorded_input(name, value) for name, value in given.items()}

    def _plain_arguments(self) -> dict[str, Any]:
        return {name: value for name, value in self._arguments.items() if is_plain(value) and not _is_media(value)}

    def _other_arguments(self) -> Iterator[tuple[str, str]]:
        """Images and videos, which are loaded, and objects of the user's own."""
        for name, value in self._arguments.items():
            if not is_plain(value):
                yield name, "..."
            elif _is_media(value):
                yield name, self._load_input(name, value)
        for name in self._missing_inputs():
            yield name, self._load_input(name, None)
        if self.request.changes.ip_adapter:
            yield "ip_adapter_image", self._load_input("ip_adapter_image", None)

    def _load_input(self, name: str, size: Any) -> str:
        """Add the line that loads an image, several or a video; the name of the variable."""
        if isinstance(size, list | tuple):
            return f"[{', '.join(self._load_input(f'{name}_{number}', one) for number, one in enumerate(size, 1))}]"
        is_video = isinstance(size, VideoSize) or (size is None and name == "video")
        load = self._import("diffusers.utils", "load_video" if is_video else "load_image")
        ending = "mp4" if is_video else "png"
        resized = f".resize(({size.width}, {size.height}))" if isinstance(size, ImageSize) else ""
        line = f'{name} = {load}("{name}.{ending}"){resized}'
        if line not in self.inputs:
            self.inputs.append(line)
        return name

    def _missing_inputs(self) -> list[str]:
        """Images and videos that the pipeline needs but that were not given."""
        entry = entry_of(self.request)
        names = TASK_INPUTS.get(entry.task, ()) if entry is not None else ()
        defaults = self.profile.request.defaults
        if names == ("control_image",) and "image" in defaults and "control_image" not in defaults:
            names = ("image",)
        stood_in = [name for name, value in defaults.items() if _is_media(recorded_input(name, value))]
        return [name for name in dict.fromkeys((*names, *stood_in)) if name not in self._arguments]

    @property
    def _takes_prompt(self) -> bool:
        return any(part.role == "text_encoder" for part in self.profile.components.values())


def _is_media(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(map(_is_media, value))
    return isinstance(value, ImageSize | VideoSize)


def _guidance_callback(share: float, tensors: tuple[str, ...]) -> Iterator[str]:
    yield "def end_guidance(pipe, step, timestep, tensors):"
    yield f"    if step == int({share:g} * pipe.num_timesteps):"
    yield "        pipe._guidance_scale = 1.0"
    yield from (f'        tensors["{name}"] = tensors["{name}"].chunk(2)[-1]' for name in tensors)
    yield "    return tensors"
