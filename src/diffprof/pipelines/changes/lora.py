"""LoRA for a pipeline without weights: of a given rank, or from a file, of which only the header is read."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from diffprof.errors import RequestError, first_line
from diffprof.pipelines.building.build import virtual_weights
from diffprof.pipelines.components import components_of, element_count, role_of
from diffprof.pipelines.patching import Patches
from diffprof.pipelines.quiet import quiet_libraries

PROJECTIONS = ("to_q", "to_k", "to_v", "to_out.0", "add_q_proj", "add_k_proj", "add_v_proj", "to_add_out")
"""The layers that diffusers' training scripts adapt, by their names in its models."""

LARGEST_RANK = 4096
MAX_TENSORS = 100_000
USUAL_FILE = "pytorch_lora_weights.safetensors"


def add_lora(pipeline: Any, lora: str, dtype: torch.dtype, name: str) -> list[str]:
    """Add the adapter to a pipeline on virtual weights; return the assumptions made."""
    require_peft()
    if lora.strip().isdecimal():
        return _add_rank(pipeline, int(lora), dtype, name)
    return _add_file(pipeline, lora_file(lora), dtype, name)


def lora_file(path: str) -> Path:
    """Return the file of a LoRA, given by itself or by its folder."""
    file = Path(path).expanduser()
    file = file / USUAL_FILE if file.is_dir() else file
    if file.suffix in (".bin", ".pt", ".ckpt", ".pth"):
        raise RequestError(f"{file} can run code when it is read; convert it to safetensors")
    if not file.is_file():
        raise RequestError(f"--lora takes a rank or a .safetensors file, and there is no file {file}")
    return file


def require_peft() -> None:
    """Raise a `RequestError` if peft is not installed."""
    import importlib.util

    if importlib.util.find_spec("peft") is None:
        raise RequestError("LoRA needs peft; install it with `pip install peft`")


def _add_rank(pipeline: Any, rank: int, dtype: torch.dtype, name: str) -> list[str]:
    if not 1 <= rank <= LARGEST_RANK:
        raise RequestError(f"the rank of a LoRA must be a whole number from 1 to {LARGEST_RANK:,}, not {rank}")
    from peft import LoraConfig

    adapted = 0
    for slot, denoiser in _denoisers(pipeline).items():
        layers = projections(denoiser)
        if not layers or not hasattr(denoiser, "add_adapter"):
            continue
        config = LoraConfig(r=rank, lora_alpha=rank, target_modules=layers)
        with Patches() as patches, virtual_weights(patches, dtype), _refusal(f"{slot} cannot take a LoRA"):
            denoiser.add_adapter(config, adapter_name=name)
        adapted += len(layers)
    if not adapted:
        raise RequestError(f"{type(pipeline).__name__} has no attention projections for a LoRA of that rank")
    return [f"the LoRA of rank {rank} adapts the {adapted} projections of attention, as training scripts usually do"]


def projections(denoiser: torch.nn.Module) -> list[str]:
    """Return the paths of the layers that a LoRA of a given rank adapts."""
    return [
        path
        for path, module in denoiser.named_modules()
        if isinstance(module, torch.nn.Linear) and any(path.endswith(f".{name}") for name in PROJECTIONS)
    ]


def _add_file(pipeline: Any, file: Path, dtype: torch.dtype, name: str) -> list[str]:
    if not hasattr(pipeline, "load_lora_weights"):
        raise RequestError(f"diffusers cannot load a LoRA into a {type(pipeline).__name__}")
    tensors = read_header(file)
    refuse_other_adapters(file, tensors)
    before, mode = _parameters(pipeline), _Conversion()
    other = f"{file} is not a LoRA for {type(pipeline).__name__}"
    with (
        Patches() as patches, virtual_weights(patches, dtype), _refusal(other), _conversion_mode(pipeline, mode),
        quiet_libraries(logging.CRITICAL),
    ):  # fmt: skip
        pipeline.load_lora_weights(with_slots(pipeline, tensors), adapter_name=name)
    added = _parameters(pipeline) - before
    if not added:
        raise RequestError(f"{other}: none of its {len(tensors):,} tensors belongs to a layer of this model")
    held = sum(tensor.numel() for tensor in tensors.values() if tensor.is_meta)
    if added == held:
        return []
    guess = "; that its fused projections are dense is assumed" if mode.has_guessed else ""
    return [f"{file.name} holds {held:,} elements; as diffusers converts them, {added:,} are added to the model{guess}"]


def with_slots(pipeline: Any, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Rename the tensors for diffusers, which expects the slot of the denoiser before the path of a layer.

    PEFT writes ``base_model.model.`` before it, ComfyUI ``diffusion_model.``, and some trainers nothing. All other
    names are left to diffusers' own converters, which know those of kohya, XLabs, Black Forest Labs and others.
    """
    named = {name: OTHER_PREFIX.sub("", name) for name in tensors}
    for slot, denoiser in _denoisers(pipeline).items():
        paths = {path for path, _ in denoiser.named_modules()}
        if all(LORA_ENDING.sub("", plain) in paths for plain in named.values()):
            return {f"{slot}.{name}": tensor for name, tensor in _peft_layout(named, tensors).items()}
        if type(denoiser).__name__ == "FluxTransformer2DModel" and all(map(FLUX_PATH.match, named.values())):
            return _comfyui_layout({named[name]: tensor for name, tensor in tensors.items()})
    return dict(tensors)


def _peft_layout(named: Mapping[str, str], tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return names that diffusers does not convert: some converters would add the slot again.

    A scale is multiplied into the second matrix.
    """
    scales = {
        named[name].removesuffix(ALPHA): float(tensor) for name, tensor in tensors.items() if name.endswith(ALPHA)
    }
    found: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        layer, new = LORA_ENDING.sub("", named[name]), named[name].replace(".default.", ".")
        new = new.replace(".lora_down.", ".lora_A.").replace(".lora_up.", ".lora_B.")
        if new.endswith(".lora_B.weight") and layer in scales:
            tensor = tensor * (scales[layer] / tensor.shape[1])
        if not name.endswith(ALPHA):
            found[new] = tensor
    return found


ALPHA = ".alpha"


def _comfyui_layout(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the only layout with the original FLUX paths that diffusers converts; a missing scale is one."""
    found: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        new = f"diffusion_model.{name.replace('.lora_A.', '.lora_down.').replace('.lora_B.', '.lora_up.')}"
        found[new] = tensor
        if new.endswith(DOWN):
            found.setdefault(f"{new.removesuffix(DOWN)}.alpha", torch.tensor(float(tensor.shape[0]), device="cpu"))
    return found


DOWN = ".lora_down.weight"


OTHER_PREFIX = re.compile(
    r"^(base_model\.model\.|(model\.)?diffusion_model\.|transformer\.(?=(double|single)_blocks\.))"
)
FLUX_PATH = re.compile(r"^(double_blocks|single_blocks)\.\d+\.(?!processor)")
LORA_ENDING = re.compile(
    r"\.(lora_A|lora_B|lora_down|lora_up|lora_magnitude_vector)(\.\w+)?(\.weight|\.bias)?$|\.alpha$"
)


def refuse_other_adapters(file: Path, tensors: Collection[str]) -> None:
    """Refuse other kinds of adapters, which diffusers has no layers for."""
    for kind, mark in {"LoHa": ".hada_w1_a", "LoKr": ".lokr_w1"}.items():
        if any(mark in name for name in tensors):
            raise RequestError(f"{file} is a {kind}, which diffusers cannot load; extract a LoRA from it and use that")


@contextlib.contextmanager
def _conversion_mode(pipeline: Any, mode: _Conversion) -> Iterator[None]:
    """Let diffusers' converters of other formats run in this mode."""
    original = pipeline.lora_state_dict

    def convert(*args: Any, **kwargs: Any) -> Any:
        with mode:
            return original(*args, **kwargs)

    vars(pipeline)["lora_state_dict"] = convert
    try:
        yield
    finally:
        del vars(pipeline)["lora_state_dict"]


class _Conversion(TorchFunctionMode):
    """Makes numbers that converters create, such as scales, real; values that a header does not have are never zero."""

    def __init__(self) -> None:
        super().__init__()
        self.has_guessed = False

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.tensor:
            kwargs.setdefault("device", "cpu")
        if func is torch.all and args[0].is_meta:
            # Diffusers checks whether parts of fused projections in kohya's FLUX files are zero.
            self.has_guessed = True
            return torch.zeros((), dtype=torch.bool, device="cpu")
        return func(*args, **kwargs)


def read_header(file: Path) -> dict[str, torch.Tensor]:
    """Return the tensors of a safetensors file without data; scalar scales of adapters are taken as one."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="pt") as opened:
            names = list(opened.keys())
            if len(names) > MAX_TENSORS:
                raise RequestError(f"{file} holds {len(names):,} tensors, more than any LoRA; check that it is one")
            slices = {name: opened.get_slice(name) for name in names}
            shapes = {name: (part.get_shape(), part.get_dtype()) for name, part in slices.items()}
    except (SafetensorError, OSError, ValueError) as error:
        raise RequestError(f"{file} cannot be read as a safetensors file: {first_line(error)}") from None
    return {name: _virtual(shape, dtype) for name, (shape, dtype) in shapes.items()}


def _virtual(shape: list[int], dtype: str) -> torch.Tensor:
    kind = DTYPES.get(dtype, torch.float32)
    if not shape or shape == [1]:
        return torch.ones(shape, dtype=kind)
    return torch.empty(shape, dtype=kind, device="meta")


DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}


def _denoisers(pipeline: Any) -> dict[str, Any]:
    return {slot: part for slot, part in components_of(pipeline).items() if role_of(slot, part) == "denoiser"}


def _parameters(pipeline: Any) -> int:
    parts = components_of(pipeline).values()
    return sum(element_count(weight) for part in parts for weight in part.parameters())


@contextlib.contextmanager
def _refusal(sentence: str) -> Iterator[None]:
    """Convert errors of the libraries to one sentence."""
    try:
        yield
    except RequestError:
        raise
    except Exception as error:
        # torch lists the weights that do not fit after the first line.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[1] if len(lines) > 1 and "loading state_dict" in lines[0] else first_line(error)
        raise RequestError(f"{sentence}: {reason[:300].rstrip('.')}") from error
