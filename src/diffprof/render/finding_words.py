"""What is said about each case of each rule: a title, the evidence, and what to do.

Names in braces are those of the evidence. Evidence and advice are several sentences: one whose figures are not known is
left out.
"""

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    title: str
    evidence: tuple[str, ...]
    advice: tuple[str, ...]


_DOMINATES = "{section} takes {total_share} of the time: {total_seconds} in {calls}."
_DOMINANCE = (
    "{mean_seconds} a call; everything else together takes {rest_share}",
    "{longest} has longer calls ({longest_seconds}), but {longest_share} of the time",
)
_WARM_UP = ("{extra_seconds} more than the median of the {others} after it",)
_VAE = "The VAE needs {peak_bytes} {memory}, everything else at most {rest_bytes}: it decides what fits."
_VAE_MEMORY = (
    "{excess_bytes} more than any other part",
    "the peak is {full_share} of the {there_bytes} that are there",
    "its activations alone were counted as {activation_bytes}",
)
_CACHE = (
    "{hits} in {asks}",
    "it saves {saved_macs_share} of the MACs of {component}",
    "it holds up to {held_bytes}",
)
_CACHE_OUT = "To take it out: pipe.{component}.disable_cache()."
_WRITTEN_OUT = "The attention of {component} is written out, not fused: {attentions} times, with all scores in memory."
_SCORES = (
    "{bytes_share} of the bytes and {macs_share} of the MACs of {component} ({class_name})",
    "{moved_bytes} read and written for it",
    "{component} takes {component_share} of the time",
)
_LAUNCH_BOUND = "{component} reaches {peak_share} of the peak: {operations} a call, {operation_seconds} each."
_LAUNCHES = (
    "{component} ({class_name}) takes {component_share} of the time",
    "the peak is that of {device}",
    "{peak_source}",
)

WORDS: dict[tuple[str, str], Words] = {
    ("incomplete_run", "others_ended"): Words(
        "{failed} of {iterations} did not come to an end; the figures are those of the others ({timed}).",
        ("the last of them stopped after {until_seconds}, with {steps} done: {error}",),
        ("See why it stopped before you compare these figures with others.",),
    ),
    ("incomplete_run", "none_ended"): Words(
        "No iteration came to its end: the figures cover a call that stopped after {until_seconds}.",
        ("it had done {steps}", "it stopped because of: {error}"),
        ("Take the figures for what ran until then: they are not those of a whole call.",),
    ),
    ("unstable_timings", "iterations"): Words(
        "The iterations differ by {spread_share}: do not trust a comparison that is closer than that.",
        (
            "{iterations} of {fastest_seconds} to {slowest_seconds}, {mean_seconds} on average",
            "the difference is their standard deviation over their mean",
        ),
        (
            "Stop what else runs on the machine, let a hot device cool, and measure more often: "
            "diffprof.measure(pipe, warmup=2, iterations=10, ...).",
        ),
    ),
    ("dominant_section", "denoiser"): Words(
        _DOMINATES,
        _DOMINANCE,
        (
            "Begin here: anything else gains at most {rest_share}.",
            "Fewer steps (num_inference_steps, with a scheduler made for it such as DPMSolverMultistepScheduler) and "
            "pipe.{component}.compile() help any denoiser; one that has enable_cache can skip what hardly changes from "
            "step to step: enable_cache(FirstBlockCacheConfig(threshold=0.05)).",
        ),
    ),
    ("dominant_section", "vae"): Words(
        _DOMINATES,
        _DOMINANCE,
        (
            "Begin here, not with the denoiser: anything else gains at most {rest_share}.",
            "Run it in half precision where its weights allow that, compile it (pipe.{component}.compile()), and for "
            "previews take a small decoder (AutoencoderTiny).",
            "Tiling (pipe.{component}.enable_tiling()) helps where memory runs short; else it only costs time.",
        ),
    ),
    ("dominant_section", "encoder"): Words(
        _DOMINATES,
        _DOMINANCE,
        (
            "Encode each prompt or picture once and keep the result: pipe.encode_prompt(...) once, then "
            "pipe(prompt_embeds=...) in every call.",
        ),
    ),
    ("dominant_section", "other"): Words(
        _DOMINATES,
        _DOMINANCE,
        ("It is no model. A trace shows what it does: diffprof.measure(pipe, trace=True, ...).",),
    ),
    ("dominant_section", "between"): Words(
        "{total_share} of the time lies between the sections: {total_seconds} in no model and no scheduler.",
        ("{longest} has the longest calls ({longest_seconds}), with {longest_share} of the time",),
        (
            "Look at what the pipeline does there: callback_on_step_end, progress bars, copies to and from the device.",
            "A trace shows it: diffprof.measure(pipe, trace=True, ...).",
        ),
    ),
    ("prompt_encoded_again", "in_one_call"): Words(
        "{section} encodes the same prompt again in one call: {saved_seconds} that could be saved.",
        ("{again} times too often, for {prompts}", "{saved_share} of the time"),
        ("Encode it once with pipe.encode_prompt(...) and pass on what it gives: pipe(prompt_embeds=..., ...).",),
    ),
    ("prompt_encoded_again", "over_calls"): Words(
        "{section} encodes the same prompt again in later calls: {saved_seconds} that could be saved.",
        ("{again} times too often, for {prompts}", "{saved_share} of the time"),
        (
            "Keep what pipe.encode_prompt(...) gives for a prompt and pass that to each call: "
            "pipe(prompt_embeds=..., ...).",
            "The text encoder need not be on the device then.",
        ),
    ),
    ("offload_dominates", "busy"): Words(
        "Moving weights keeps the host busy for {busy_share} of the time: {busy_seconds} of {wall_seconds}.",
        (
            "{moved_bytes} in {moves}",
            "{component} takes most of it: {component_seconds}",
            "of {unknown_seconds} of it, nobody knows whether something else ran beside it",
        ),
        (
            "Move less: pipe.enable_model_cpu_offload() moves each component once a call; sequential offload moves "
            "each layer again and again.",
            "Or move while something else computes: pipe.enable_group_offload(onload_device=device, "
            'offload_type="leaf_level", use_stream=True).',
        ),
    ),
    ("moved_each_step", "in_again"): Words(
        "{component} is moved to the device again in each denoising step: {step_bytes} a step.",
        ("{moved_bytes} in {steps}", "the host was busy with it for {busy_seconds}, {busy_share} of the time"),
        (
            "Let it stay while the loop runs: pipe.enable_model_cpu_offload() moves it once a call.",
            "Where it does not fit, pipe.{component}.enable_group_offload(onload_device=device, "
            'offload_type="block_level", num_blocks_per_group=2, use_stream=True) moves the next blocks while others '
            "compute.",
        ),
    ),
    ("attention_written_out", "model"): Words(
        _WRITTEN_OUT,
        _SCORES,
        (
            "Use the fused one of torch: pipe.{component}.set_attn_processor(AttnProcessor2_0()).",
            "Attention slicing writes it out too: pipe.disable_attention_slicing().",
            "A model whose processors choose a backend: pipe.{component}.set_attention_backend(...).",
        ),
    ),
    ("attention_written_out", "encoder"): Words(
        _WRITTEN_OUT,
        _SCORES,
        ('Use the fused one of torch: pipe.{component}.set_attn_implementation("sdpa").',),
    ),
    ("launch_bound", "accelerator"): Words(
        _LAUNCH_BOUND,
        _LAUNCHES,
        (
            "Starting them takes longer than computing them: "
            'pipe.{component}.compile(mode="reduce-overhead") fuses them and starts them all at once.',
            "A larger batch (num_images_per_prompt, several prompts) gives each of them more to do.",
        ),
    ),
    ("launch_bound", "cpu"): Words(
        _LAUNCH_BOUND,
        _LAUNCHES,
        (
            "Calling them takes longer than computing them: pipe.{component}.compile() fuses them, and a larger batch "
            "gives each of them more to do.",
            "For operations this small fewer threads can be faster: torch.set_num_threads(...).",
        ),
    ),
    ("scheduler_overhead", "step"): Words(
        "The scheduler takes {scheduler_share} of a denoising step: {mean_seconds} of {step_seconds}.",
        ("{total_seconds} in {steps}",),
        (
            "Try one that does less in a step: "
            "pipe.scheduler = EulerDiscreteScheduler.from_config(pipe.scheduler.config).",
            "A trace (trace=True) shows whether its step waits for the device.",
        ),
    ),
    ("cache_never_hits", "no_hit"): Words(
        "The cache {cache} never had the result, in {asks}.",
        _CACHE[1:],
        (
            "Let it hit sooner, such as FirstBlockCacheConfig(threshold=...) with a higher threshold or "
            "PyramidAttentionBroadcastConfig(...) with a wider range of timesteps, or do without it.",
            _CACHE_OUT,
        ),
    ),
    ("cache_seldom_hits", "few_hits"): Words(
        "The cache {cache} holds {held_bytes} and has the result in {hit_share} of the requests only.",
        _CACHE[:-1],
        ("Let it hit sooner with a higher threshold or a wider range, or have its memory back.", _CACHE_OUT),
    ),
    ("vae_decode_memory", "one_picture"): Words(
        _VAE,
        _VAE_MEMORY,
        (
            "pipe.{component}.enable_tiling() computes the picture in tiles, for a little more time; where it is on "
            "already, make the tiles smaller (tile_sample_min_size and the like).",
        ),
    ),
    ("vae_decode_memory", "several_pictures"): Words(
        _VAE,
        (*_VAE_MEMORY, "{pictures} are decoded at once"),
        (
            "pipe.{component}.enable_slicing() decodes one picture after the other.",
            "If one alone is too large: pipe.{component}.enable_tiling().",
        ),
    ),
    ("memory_not_freed", "grows"): Words(
        "The memory {memory} is higher after each iteration: {growth_bytes} more after {iterations}.",
        ("from {before_bytes} to {after_bytes} at the end of the call",),
        (
            "Look for what keeps tensors of a call that is over: results in a list, latents that a callback stores, "
            "a cache of your own.",
        ),
    ),
    ("memory_not_freed", "kept"): Words(
        "After the call {growth_bytes} more are held {memory} than before it.",
        ("{before_bytes} before, {after_bytes} after",),
        (
            'If that is not the result itself (output_type="latent" or "pt" leaves it there), look for tensors that a '
            "callback keeps, and for offloading that did not end: pipe.maybe_free_model_hooks().",
        ),
    ),
    ("fragmentation", "reserved"): Words(
        "{reserved_bytes} are reserved though at most {needed_bytes} were ever needed: the free memory is in pieces.",
        ("{excess_bytes} too many, at: {label}",),
        (
            "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True before the program starts; "
            "calls of equal sizes fragment less.",
        ),
    ),
    ("warm_up", "kept_apart"): Words(
        "The first iteration took {first_seconds}, later ones {usual_seconds}: warm-up, which the figures leave out.",
        _WARM_UP,
        ("A program that makes one picture pays for it: let it run on, and warm it up with a short call.",),
    ),
    ("warm_up", "in_the_figures"): Words(
        "The first iteration took {first_seconds}, later ones {usual_seconds}: it is warm-up, and in the figures.",
        _WARM_UP,
        ("Keep it apart: diffprof.measure(pipe, warmup=1, ...).",),
    ),
    ("warm_up", "first_step"): Words(
        "The first denoising step took {first_seconds}, later ones {usual_seconds}, for the same work: warm-up.",
        _WARM_UP,
        ("Call the pipeline once before it is measured: diffprof.measure(pipe, warmup=1, ...) does.",),
    ),
}
