"""Write a diffusers program for a request and its settings, as lines of Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from diffprof.advice.commands import is_plain
from diffprof.catalogue.entry import Entry
from diffprof.catalogue.names import resolve
from diffprof.errors import DiffprofError
from diffprof.prediction.weights import compute_dtype
from diffprof.record.inputs import ImageSize, VideoSize
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings

ENCODED = {
    "FluxPipeline": ("prompt_embeds", "pooled_prompt_embeds", "_"),
    "StableDiffusionXLPipeline": (
        *("prompt_embeds", "negative_prompt_embeds", "pooled_prompt_embeds", "negative_pooled_prompt_embeds"),
    ),
    "StableDiffusion3Pipeline": (
        *("prompt_embeds", "negative_prompt_embeds", "pooled_prompt_embeds", "negative_pooled_prompt_embeds"),
    ),
    "WanPipeline": ("prompt_embeds", "negative_prompt_embeds"),
    "CogVideoXPipeline": ("prompt_embeds", "negative_prompt_embeds"),
    "HunyuanVideoPipeline": ("prompt_embeds", "pooled_prompt_embeds", "prompt_attention_mask"),
    "LTXPipeline": (
        *("prompt_embeds", "prompt_attention_mask", "negative_prompt_embeds", "negative_prompt_attention_mask"),
    ),
    "MochiPipeline": (
        *("prompt_embeds", "prompt_attention_mask", "negative_prompt_embeds", "negative_prompt_attention_mask"),
    ),
}
"""The call arguments that ``encode_prompt(prompt=...)`` returns, for pipelines that support it separately."""

NEEDS_DUMMY = ("StableDiffusion3Pipeline",)
"""Pipelines that require a second and third prompt."""

TORCHAO = {
    "int8": "Int8WeightOnlyConfig", "fp8": "Float8WeightOnlyConfig", "int4": "Int4WeightOnlyConfig",
    "int8-dynamic": "Int8DynamicActivationInt8WeightConfig", "fp8-dynamic": "Float8DynamicActivationFloat8WeightConfig",
}  # fmt: skip

STEP_CACHE = "FirstBlockCacheConfig"
GUIDED_UNTIL = {
    "StableDiffusionPipeline": ("prompt_embeds",),
    "StableDiffusionXLPipeline": ("prompt_embeds", "add_text_embeds", "add_time_ids"),
    "WanPipeline": (),
}
"""Pipelines whose guidance a callback can end, with the tensors of which it keeps half of the batch."""


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
        options = [f'"{model_id(self.request)}"', f"torch_dtype=torch.{self._dtype}"]
        options += [f"{slot}=None" for slot in self.settings.without]
        if self.settings.quantize:
            config = self._import("diffusers", "PipelineQuantizationConfig")
            yield f"quantization = {config}(quant_mapping={{"
            yield from (
                f'    "{slot}": {self._quantization(slot, kind)},' for slot, kind in self.settings.quantize.items()
            )
            yield "})"
            options.append("quantization_config=quantization")
        yield f"pipe = {self.profile.request.pipeline}.from_pretrained({', '.join(options)})"
        if self.request.scheduler:
            name = self._import("diffusers", self.request.scheduler)
            yield f"pipe.scheduler = {name}.from_config(pipe.scheduler.config)"

    @property
    def _dtype(self) -> str:
        if self.request.dtype:
            return self.request.dtype
        sizes: dict[str, int] = {}
        for part in self.profile.components.values():
            if part.weight_bytes:
                sizes[compute_dtype(part)] = sizes.get(compute_dtype(part), 0) + part.weight_bytes
        return max(sizes, key=lambda dtype: sizes[dtype], default="float32")

    def _quantization(self, slot: str, scheme: str) -> str:
        library, _, kind = scheme.partition(":")
        is_of_transformers = self.profile.components[slot].role in ("text_encoder", "image_encoder")
        module = "transformers" if is_of_transformers else "diffusers"
        if library == "bitsandbytes":
            name = "BitsAndBytesConfig"
            name = self._import(module, f"{name} as TextEncoderConfig" if is_of_transformers else name)
            if kind == "int8":
                return f"{name}(load_in_8bit=True)"
            double = ", bnb_4bit_use_double_quant=True" if kind == "nf4-double" else ""
            return (
                f'{name}(load_in_4bit=True, bnb_4bit_quant_type="{kind.partition("-")[0]}", '
                f"bnb_4bit_compute_dtype=torch.{self._dtype}{double})"
            )
        if library == "torchao":
            config = self._import("torchao.quantization", TORCHAO[kind])
            name = self._import(module, "TorchAoConfig as TextEncoderConfig" if is_of_transformers else "TorchAoConfig")
            return f"{name}({config}())"
        if library == "quanto":
            name = self._import(module, "QuantoConfig as TextEncoderConfig" if is_of_transformers else "QuantoConfig")
            # The two libraries name it differently.
            return f'{name}({"weights" if is_of_transformers else "weights_dtype"}="{kind.replace("fp8", "float8")}")'
        name = self._import("diffusers", "GGUFQuantizationConfig")
        return f"{name}(compute_dtype=torch.{self._dtype})"

    def _switches(self) -> Iterator[str]:
        for switch in self.request.enable:
            part, _, name = switch.rpartition("vae_")
            yield f"pipe.vae.enable_{name}()" if "vae_" in switch else f"pipe.enable_{part or switch}()"
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
        elif self._encoded_names:
            yield from self._encoding_lines(self._encoded_names)
        else:
            if settings.drop_text_encoders:
                yield "# encode the prompt first, with the text encoders alone on the device, and delete them:"
                yield f"# the results of {self.profile.request.pipeline}.encode_prompt are arguments of the call"
            yield 'pipe.to("cuda")' if settings.offload == "none" else offload_line(settings)
        if settings.compiled:
            yield from (f"pipe.{slot}.compile()" for slot in self.denoisers)

    @property
    def _encoded_names(self) -> Sequence[str]:
        """The call arguments with the encoded prompt, if text encoders are dropped and the names are known."""
        return ENCODED.get(self.profile.request.pipeline, ()) if self.settings.drop_text_encoders else ()

    def _encoding_lines(self, names: Sequence[str]) -> Iterator[str]:
        """Encode the prompt with only the text encoders on the device, and delete them."""
        encoders = [slot for slot, part in self.profile.components.items() if part.role == "text_encoder"]
        encoders = [slot for slot in encoders if slot not in self.settings.without]
        prompt = self.request.arguments.get("prompt", "a cat")
        others = ""
        if self.profile.request.pipeline in NEEDS_DUMMY:
            others = ", prompt_2=None, prompt_3=None"
        is_resident = self.settings.offload == "none"
        if is_resident:
            yield from (f'pipe.{slot}.to("cuda")' for slot in encoders)
        else:
            yield offload_line(self.settings)
        yield "with torch.no_grad():"
        yield f'    {", ".join(names)} = pipe.encode_prompt(prompt={prompt!r}{others}, device="cuda")'
        yield f"{' = '.join(f'pipe.{slot}' for slot in encoders)} = None"
        yield "torch.cuda.empty_cache()"
        if is_resident:
            yield 'pipe.to("cuda")'

    def _call_lines(self) -> Iterator[str]:
        given: dict[str, str] = {}
        if self._encoded_names:
            given = {name: name for name in self._encoded_names if name != "_"}
        elif "prompt" not in self.request.arguments and self._takes_prompt:
            given = {"prompt": '"a cat"'}
        for name in self._missing_inputs():
            load, ending = ("load_video", "mp4") if name == "video" else ("load_image", "png")
            yield f'{name} = {self._import("diffusers.utils", load)}("{name}.{ending}")'
            given[name] = name
        for name, value in {**self._recommended_arguments(), **self.request.arguments}.items():
            is_dropped = self._encoded_names and name in ("prompt", "negative_prompt")
            if not is_dropped:
                given[name] = _value(value)
        interval = self.request.changes.guidance_interval
        if interval:
            yield from _guidance_callback(interval[1], GUIDED_UNTIL.get(self.profile.request.pipeline, ()))
            given["callback_on_step_end"] = "end_guidance"
            tensors = GUIDED_UNTIL.get(self.profile.request.pipeline, ())
            if tensors:
                given["callback_on_step_end_tensor_inputs"] = repr(list(tensors))
        yield f"result = pipe({', '.join(f'{name}={text}' for name, text in given.items())})"

    def _recommended_arguments(self) -> dict[str, Any]:
        """The recommended arguments with which the model was counted, which differ from the pipeline's defaults."""
        asked = self.profile.request
        return {name: asked.arguments[name] for name in asked.recommended if name in asked.arguments}

    def _missing_inputs(self) -> list[str]:
        """Images and videos that the pipeline needs but that were not given."""
        entry = _entry(self.request)
        names = TASK_INPUTS.get(entry.task, ()) if entry is not None else ()
        defaults = self.profile.request.defaults
        if names == ("control_image",) and "image" in defaults and "control_image" not in defaults:
            names = ("image",)
        return [name for name in names if name not in self.request.arguments]

    @property
    def _takes_prompt(self) -> bool:
        return any(part.role == "text_encoder" for part in self.profile.components.values())


def offload_line(settings: RunSettings) -> str:
    """The line that enables a kind of offload."""
    if settings.offload in ("model", "sequential"):
        return f"pipe.enable_{settings.offload}_cpu_offload()"
    blocks = ""
    level = "leaf_level"
    if settings.offload == "group":
        level, blocks = "block_level", f", num_blocks_per_group={settings.blocks_per_group}"
    return (
        f'pipe.enable_group_offload(torch.device("cuda"), offload_type="{level}"{blocks}, '
        f"use_stream={settings.use_stream})"
    )


def _guidance_callback(share: float, tensors: tuple[str, ...]) -> Iterator[str]:
    yield "def end_guidance(pipe, step, timestep, tensors):"
    yield f"    if step == int({share:g} * pipe.num_timesteps):"
    yield "        pipe._guidance_scale = 1.0"
    yield from (f'        tensors["{name}"] = tensors["{name}"].chunk(2)[-1]' for name in tensors)
    yield "    return tensors"


def _value(value: Any) -> str:
    # An image, a generator or a tensor of the user's own.
    return "..." if isinstance(value, ImageSize | VideoSize) or not is_plain(value) else repr(value)


def model_id(request: Request) -> str:
    """The argument of ``from_pretrained`` for the model of a request."""
    entry = _entry(request)
    return entry.hub_id if entry is not None and entry.hub_id else str(request.model)


def _entry(request: Request) -> Entry | None:
    try:
        return resolve(request.model).entry
    except DiffprofError:
        return None
