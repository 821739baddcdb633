"""Lines of Python that load a pipeline: its weights, packed or not, and what is added to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from diffprof.catalogue.bundled_model import is_bundled
from diffprof.catalogue.entry import Entry
from diffprof.catalogue.names import Place, resolve
from diffprof.errors import DiffprofError
from diffprof.prediction.weights import compute_dtype
from diffprof.record.profile import Profile
from diffprof.record.request import Request
from diffprof.record.run_settings import RunSettings

TORCHAO = {
    "int8": "Int8WeightOnlyConfig", "fp8": "Float8WeightOnlyConfig", "int4": "Int4WeightOnlyConfig",
    "int8-dynamic": "Int8DynamicActivationInt8WeightConfig", "fp8-dynamic": "Float8DynamicActivationFloat8WeightConfig",
}  # fmt: skip

ADDED_TO = {
    "sd-1.5-controlnet-canny": ("controlnet", "sd-1.5"),
    "sdxl-controlnet-union": ("controlnet", "sdxl"),
    "flux.1-dev-controlnet-union": ("controlnet", "flux.1-dev"),
    "animatediff-v1-5-2": ("motion_adapter", "sd-1.5"),
}
"""Models of the catalogue that are one component: its slot, and the model that it is added to."""

LIVE_PIPELINE = "FOLDER OR HUB ID"
"""Stands for the name of a live pipeline, which is not known."""

IP_ADAPTER_FILES = {
    (False, "base"): ("models", "ip-adapter_sd15.bin"),
    (False, "plus"): ("models", "ip-adapter-plus_sd15.bin"),
    (True, "base"): ("sdxl_models", "ip-adapter_sdxl_vit-h.bin"),
    (True, "plus"): ("sdxl_models", "ip-adapter-plus_sdxl_vit-h.bin"),
}
"""For models other than SDXL and for SDXL: the folder and the file of each kind of IP-Adapter in h94/IP-Adapter."""


class Importer(Protocol):
    """Adds a name to the imports of the program, and gives the name to use."""

    def __call__(self, module: str, name: str) -> str: ...


class LoadingCode:
    """The lines up to the pipeline ``pipe``, and what is added to it."""

    def __init__(self, profile: Profile, request: Request, settings: RunSettings, importer: Importer) -> None:
        self.profile, self.request, self.settings = profile, request, settings
        self._import = importer

    def lines(self, with_adapters: bool = True) -> Iterator[str]:
        """Load the components that are loaded on their own, then the pipeline, then adapters."""
        options: list[str] = []
        yield from self._controlnet_lines(options)
        yield from self._gguf_lines(options)
        yield from self._quantization_lines(options)
        kind = self.profile.request.pipeline
        method = "from_single_file" if _is_weight_file(self.request) else "from_pretrained"
        config = [f'config="{base_id(self.request.config)}"'] if self.request.config else []
        left_out = [f"{slot}=None" for slot in self.settings.without]
        words = [self._place(), *config, *left_out, f"torch_dtype=torch.{self.dtype}", *options]
        yield f"pipe = {kind}.{method}({', '.join(words)})"
        if with_adapters:
            yield from self._adapter_lines()

    def _place(self) -> str:
        """The first argument of ``from_pretrained``."""
        if is_bundled(self.request.model):
            return f"{self._import('diffprof.catalogue.bundled_model', 'shapes_folder')}()"
        if str(self.request.model) == self.profile.request.pipeline:  # a live pipeline goes by its class
            return f'"{LIVE_PIPELINE}"'
        entry = entry_of(self.request)
        _, base = ADDED_TO.get(entry.name if entry else "", ("", ""))
        return f'"{base_id(base) if base else model_id(self.request)}"'

    @property
    def dtype(self) -> str:
        """The dtype that the weights are loaded in."""
        if self.request.dtype:
            return self.request.dtype
        sizes: dict[str, int] = {}
        for part in self.profile.components.values():
            if part.weight_bytes:
                sizes[compute_dtype(part)] = sizes.get(compute_dtype(part), 0) + part.weight_bytes
        return max(sizes, key=lambda dtype: sizes[dtype], default="float32")

    def _controlnet_lines(self, options: list[str]) -> Iterator[str]:
        entry = entry_of(self.request)
        slot, _ = ADDED_TO.get(entry.name if entry else "", ("controlnet", ""))
        names = self.request.changes.controlnet
        if entry is not None and entry.name in ADDED_TO:
            names = (model_id(self.request),)
        if not names or slot not in self.profile.components:
            return
        kind = self._import("diffusers", self._controlnet_class(slot))
        loaded = [f'{kind}.from_pretrained("{_controlnet_id(name)}", torch_dtype=torch.{self.dtype})' for name in names]
        several = ", ".join(loaded)
        yield f"{slot} = [{several}]" if len(loaded) > 1 else f"{slot} = {several}"
        options.append(f"{slot}={slot}")

    def _controlnet_class(self, slot: str) -> str:
        # Several are wrapped together, and the wrapper has no from_pretrained of this kind.
        return self.profile.components[slot].class_name.replace("MultiControlNet", "ControlNet")

    def _gguf_lines(self, options: list[str]) -> Iterator[str]:
        for slot, scheme in self.settings.quantize.items():
            library, _, kind = scheme.partition(":")
            if library != "gguf":
                continue
            own = self._import("diffusers", self.profile.components[slot].class_name)
            config = self._import("diffusers", "GGUFQuantizationConfig")
            yield f"{slot} = {own}.from_single_file("
            yield f'    "{slot}-{kind}.gguf",'
            yield f"    quantization_config={config}(compute_dtype=torch.{self.dtype}),"
            yield f'    config={self._place()}, subfolder="{slot}", torch_dtype=torch.{self.dtype},'
            yield ")"
            options.append(f"{slot}={slot}")

    def _quantization_lines(self, options: list[str]) -> Iterator[str]:
        schemes = {slot: kind for slot, kind in self.settings.quantize.items() if not kind.startswith("gguf:")}
        if not schemes:
            return
        config = self._import("diffusers", "PipelineQuantizationConfig")
        yield f"quantization = {config}(quant_mapping={{"
        yield from (f'    "{slot}": {self._quantization(slot, kind)},' for slot, kind in schemes.items())
        yield "})"
        options.append("quantization_config=quantization")

    def _quantization(self, slot: str, scheme: str) -> str:
        library, _, kind = scheme.partition(":")
        is_of_transformers = self.profile.components[slot].role in ("text_encoder", "image_encoder")
        module = "transformers" if is_of_transformers else "diffusers"

        def own(name: str) -> str:
            return self._import(module, f"{name} as TextEncoderConfig" if is_of_transformers else name)

        if library == "bitsandbytes":
            return f"{own('BitsAndBytesConfig')}({_bitsandbytes(kind, self.dtype)})"
        if library == "torchao":
            config = self._import("torchao.quantization", TORCHAO[kind])
            return f"{own('TorchAoConfig')}({config}())"
        # The two libraries name it differently.
        argument = "weights" if is_of_transformers else "weights_dtype"
        return f'{own("QuantoConfig")}({argument}="{kind.replace("fp8", "float8")}")'

    def _adapter_lines(self) -> Iterator[str]:
        changes = self.request.changes
        for number, lora in enumerate(changes.lora, 1):
            is_rank = lora.strip().isdecimal()
            name = f', adapter_name="lora_{number}"' if len(changes.lora) > 1 else ""
            place = "lora.safetensors" if is_rank else lora
            yield f'pipe.load_lora_weights("{place}"{name})' + (f"  # of rank {lora.strip()}" if is_rank else "")
        if len(changes.lora) > 1:
            names = ", ".join(f'"lora_{number}"' for number in range(1, len(changes.lora) + 1))
            yield f"pipe.set_adapters([{names}])"
        if changes.ip_adapter:
            is_xl = "XL" in self.profile.request.pipeline
            folder, file = IP_ADAPTER_FILES[is_xl, changes.ip_adapter]
            yield (
                f'pipe.load_ip_adapter("h94/IP-Adapter", subfolder="{folder}", weight_name="{file}", '
                'image_encoder_folder="models/image_encoder")'
            )


def _bitsandbytes(kind: str, dtype: str) -> str:
    if kind == "int8":
        return "load_in_8bit=True"
    double = ", bnb_4bit_use_double_quant=True" if kind == "nf4-double" else ""
    return (
        f'load_in_4bit=True, bnb_4bit_quant_type="{kind.partition("-")[0]}", '
        f"bnb_4bit_compute_dtype=torch.{dtype}{double}"
    )


def _controlnet_id(name: str) -> str:
    return "FOLDER OR HUB ID OF A CONTROLNET" if name == "usual" else base_id(name)


def base_id(name: str) -> str:
    """The hub id of a model of the catalogue; the name itself for others."""
    return model_id(Request(name))


def model_id(request: Request) -> str:
    """The argument of ``from_pretrained`` for the model of a request."""
    entry = entry_of(request)
    return entry.hub_id if entry is not None and entry.hub_id else str(request.model)


def entry_of(request: Request) -> Entry | None:
    """The model in the catalogue; None for others."""
    try:
        return resolve(request.model).entry
    except DiffprofError:
        return None


def _is_weight_file(request: Request) -> bool:
    try:
        return resolve(request.model).place is Place.file
    except DiffprofError:
        return False  # a live pipeline, which has no name


def required_arguments(request: Request) -> Mapping[str, Any]:
    """What the call of a model of the catalogue cannot do without."""
    entry = entry_of(request)
    return {} if entry is None else entry.call
