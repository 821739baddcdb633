"""Lines of Python that encode a prompt before the call, so that the text encoders can be deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from diffprof.advice.literals import literal

BOTH = ("prompt_embeds", "negative_prompt_embeds")
POOLED = ("prompt_embeds", "negative_prompt_embeds", "pooled_prompt_embeds", "negative_pooled_prompt_embeds")
MASKED = ("prompt_embeds", "prompt_attention_mask", "negative_prompt_embeds", "negative_prompt_attention_mask")
FLUX = ("prompt_embeds", "pooled_prompt_embeds", "_")
HUNYUAN = ("prompt_embeds", "pooled_prompt_embeds", "prompt_attention_mask")
HUNYUAN_2 = ("prompt_embeds", "prompt_embeds_mask", "prompt_embeds_2", "prompt_embeds_mask_2")
QWEN = ("prompt_embeds", "prompt_embeds_mask")
KANDINSKY = ("prompt_embeds_qwen", "prompt_embeds_clip", "prompt_cu_seqlens")

ENCODED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("StableDiffusionPipeline", "StableDiffusionInpaintPipeline", "AnimateDiffPipeline"), BOTH),
    "StableDiffusionControlNetPipeline": BOTH,
    **dict.fromkeys(("StableDiffusionXLPipeline", "StableDiffusionXLImg2ImgPipeline"), POOLED),
    **dict.fromkeys(("StableDiffusionXLInpaintPipeline", "StableDiffusionXLControlNetPipeline"), POOLED),
    **dict.fromkeys(("StableDiffusionXLControlNetUnionPipeline", "KolorsPipeline", "StableDiffusion3Pipeline"), POOLED),
    **dict.fromkeys(("FluxPipeline", "FluxControlPipeline", "FluxControlNetPipeline"), FLUX),
    **dict.fromkeys(("FluxFillPipeline", "FluxKontextPipeline"), FLUX),
    **dict.fromkeys(("Flux2Pipeline", "Flux2KleinPipeline"), ("prompt_embeds", "_")),
    **dict.fromkeys(("WanPipeline", "WanImageToVideoPipeline", "WanVACEPipeline"), BOTH),
    "SkyReelsV2ImageToVideoPipeline": BOTH,
    **dict.fromkeys(("CogVideoXPipeline", "CogVideoXImageToVideoPipeline"), BOTH),
    **dict.fromkeys(("CogView3PlusPipeline", "CogView4Pipeline", "ZImagePipeline"), BOTH),
    **dict.fromkeys(("Cosmos2TextToImagePipeline", "Cosmos2VideoToWorldPipeline"), BOTH),
    **dict.fromkeys(("LTXPipeline", "LTXConditionPipeline", "LTX2Pipeline", "MochiPipeline"), MASKED),
    **dict.fromkeys(("AuraFlowPipeline", "PixArtAlphaPipeline", "PixArtSigmaPipeline", "Lumina2Pipeline"), MASKED),
    **dict.fromkeys(("HunyuanVideoPipeline", "HunyuanVideoFramepackPipeline"), HUNYUAN),
    **dict.fromkeys(("HunyuanVideo15Pipeline", "HunyuanImagePipeline"), HUNYUAN_2),
    **dict.fromkeys(("Kandinsky5T2IPipeline", "Kandinsky5T2VPipeline"), KANDINSKY),
    "Kandinsky3Pipeline": ("prompt_embeds", "negative_prompt_embeds", "attention_mask", "negative_attention_mask"),
    "QwenImagePipeline": QWEN,
    "BriaPipeline": (*BOTH, "_"),
    "ChromaPipeline": (
        *("prompt_embeds", "_", "prompt_attention_mask"),
        *("negative_prompt_embeds", "_", "negative_prompt_attention_mask"),
    ),
    "HiDreamImagePipeline": (
        *("prompt_embeds_t5", "negative_prompt_embeds_t5", "prompt_embeds_llama3", "negative_prompt_embeds_llama3"),
        *("pooled_prompt_embeds", "negative_pooled_prompt_embeds"),
    ),
}
"""What ``encode_prompt`` returns: the call arguments of these names, and ``_`` for what the call makes itself."""

CLASSIC: Mapping[str, str] = {"num_images_per_prompt": "1", "do_classifier_free_guidance": "True"}
LONG: Mapping[str, str] = {"max_sequence_length": "512"}
CLEANED: Mapping[str, str] = {"clean_caption": "True"}

ENCODER_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    # Required by the method, though the call has defaults for them.
    "StableDiffusionPipeline": CLASSIC,
    "StableDiffusionInpaintPipeline": CLASSIC,
    "StableDiffusionControlNetPipeline": CLASSIC,
    "AnimateDiffPipeline": CLASSIC,
    "StableDiffusion3Pipeline": {"prompt_2": "None", "prompt_3": "None"},
    # The method and the call have different defaults.
    "WanPipeline": LONG,
    "WanImageToVideoPipeline": LONG,
    "WanVACEPipeline": LONG,
    "SkyReelsV2ImageToVideoPipeline": LONG,
    "PixArtAlphaPipeline": CLEANED,
    "PixArtSigmaPipeline": CLEANED,
}
"""Arguments without which ``encode_prompt`` fails, or returns something else than in the call."""

EMPTY_ARGUMENTS: Mapping[str, str] = dict.fromkeys(("PixArtAlphaPipeline", "PixArtSigmaPipeline"), "negative_prompt")
"""An argument of the call that must be None, because its default is a text."""

NEGATIVE_PROMPTS: Mapping[str, str] = {
    **dict.fromkeys(("Flux2KleinPipeline", "HunyuanVideo15Pipeline", "HunyuanImagePipeline"), ""),
    "Kandinsky5T2IPipeline": "",
    "Kandinsky5T2VPipeline": (
        "Static, 2D cartoon, cartoon, 2d animation, paintings, images, worst quality, low quality, ugly, deformed, "
        "walking backwards"
    ),
}
"""The negative prompt that a guided call encodes by itself if none is given."""

REPEATED_BY_CALL = ("CogVideoXPipeline", "CogVideoXImageToVideoPipeline", "ZImagePipeline")
"""Pipelines whose call, and not ``encode_prompt``, is told how many results to make of a prompt."""

ENCODES_WITH_DENOISER = ("BriaPipeline",)
"""Pipelines that encode in the dtype of their denoiser, and cannot without it."""

OF_BOTH = ("max_sequence_length", "text_encoder_out_layers", "system_prompt")
"""Arguments that the method and the call must both be given."""


class PromptCode:
    """The lines that encode the prompt of a call, and the arguments that are left for the call itself."""

    def __init__(self, pipeline: str, arguments: Mapping[str, Any], is_guided: bool) -> None:
        """`arguments` are those of the whole call; `is_guided` is false if the call ignores negative prompts."""
        self.names = ENCODED[pipeline]
        self.pipeline, self.is_guided = pipeline, is_guided
        self._arguments = arguments

    def lines(self) -> Iterator[str]:
        """The calls of ``encode_prompt``."""
        own = dict(ENCODER_ARGUMENTS.get(self.pipeline, {}))
        if "prompt" not in self._arguments:
            own = {"prompt": literal("a cat"), **own}
        own |= {name: literal(value) for name, value in self._arguments.items() if self._is_encoded(name)}
        own |= {name: literal(value) for name, value in self._arguments.items() if name in OF_BOTH}
        yield _encoding(self.names, own)
        negative = self._separate_negative()
        if negative is not None:
            others = {name: text for name, text in own.items() if not name.startswith("prompt")}
            yield _encoding(_negated(self.names), {"prompt": literal(negative), **others})

    def call_arguments(self) -> dict[str, str]:
        """The encoded prompt and what else of the call is left, as Python."""
        names = [*self.names, *(_negated(self.names) if self._separate_negative() is not None else ())]
        encoded = {name: name for name in names if name != "_"}
        empty = EMPTY_ARGUMENTS.get(self.pipeline)
        left = {name: literal(value) for name, value in self._arguments.items() if not self._is_taken(name)}
        return {**encoded, **({empty: "None"} if empty else {}), **left}

    def _is_encoded(self, name: str) -> bool:
        if name.startswith("num_") and name.endswith("_per_prompt"):
            return self.pipeline not in REPEATED_BY_CALL
        return name.startswith("prompt") or (name.startswith("negative_prompt") and self._encodes_both)

    def _is_taken(self, name: str) -> bool:
        return self._is_encoded(name) or name.startswith("negative_prompt")

    @property
    def _encodes_both(self) -> bool:
        """Whether one call of the method encodes the negative prompt as well."""
        return any(name.startswith("negative_") for name in self.names)

    def _separate_negative(self) -> str | None:
        """The negative prompt that a second call must encode; None if there is none."""
        if self._encodes_both or not self.is_guided or self.pipeline in WITHOUT_NEGATIVE:
            return None
        given = self._arguments.get("negative_prompt")
        return NEGATIVE_PROMPTS.get(self.pipeline) if given is None else given


WITHOUT_NEGATIVE = ("Flux2Pipeline", "FluxFillPipeline", "FluxControlPipeline")
"""Pipelines whose calls take no negative prompt."""


def _negated(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name if name == "_" else f"negative_{name}" for name in names)


def _encoding(names: tuple[str, ...], arguments: Mapping[str, str]) -> str:
    given = ", ".join(f"{name}={text}" for name, text in arguments.items())
    return f'{", ".join(names)} = pipe.encode_prompt({given}, device="cuda")'
