"""The text of every finding: title, evidence and advice, for each case of each rule.

Names in braces are values of the finding's evidence. Sentences whose values are unknown are left out.
"""

from __future__ import annotations

from diffprof.findings.finding import FindingText

_DOMINATES = "{section} takes {total_share} of the time: {total_seconds} in {calls}."
_DOMINANCE = (
    "{mean_seconds} per call; everything else takes {rest_share}",
    "{longest} has longer calls ({longest_seconds}), but only {longest_share} of the time",
)
_WARM_UP = ("{extra_seconds} longer than the median of the {others} after it",)
_VAE = "The VAE needs {peak_bytes} {memory}, everything else at most {rest_bytes}: it determines whether the run fits."
_VAE_MEMORY = (
    "{excess_bytes} more than any other part",
    "the peak is {full_share} of the {there_bytes} available",
    "its activations alone take {activation_bytes}",
)
_CACHE = (
    "{hits} in {asks}",
    "it saves {saved_macs_share} of the MACs of {component}",
    "it holds up to {held_bytes}",
)
_SLOWER = (
    "{taken_seconds} in component calls, where {expected_seconds} are expected",
    "{component} took {component_seconds}, where {component_expected_seconds} are expected",
)
_CACHE_OUT = ("pipe.{component}.disable_cache()",)
_WRITTEN_OUT = "The attention of {component} is not fused: {attentions} times, all scores are stored in memory."
_SCORES = (
    "{bytes_share} of the bytes and {macs_share} of the MACs of {component} ({class_name})",
    "it reads and writes {moved_bytes}",
    "{component} takes {component_share} of the time",
)
_LAUNCH_BOUND = "{component} reaches {peak_share} of the peak: {operations} per call, {operation_seconds} each."
_LAUNCHES = (
    "{component} ({class_name}) takes {component_share} of the time",
    "the peak is for {device}",
    "{peak_source}",
)

_ENCODE_ONCE = ("embeds = pipe.encode_prompt(...)", "pipe(prompt_embeds=embeds[0], ...)")
_TRACE = ("diffprof.measure(pipe, trace=True, ...)",)

WORDS: dict[tuple[str, str], FindingText] = {
    ("incomplete_run", "others_ended"): FindingText(
        "{failed} of {iterations} did not finish; the results cover only the others ({timed}).",
        ("the last one stopped after {until_seconds} and {steps}: {error}",),
        ("Find the cause before comparing these results with others.",),
    ),
    ("incomplete_run", "none_ended"): FindingText(
        "No iteration finished: the results cover a call that stopped after {until_seconds}.",
        ("it completed {steps}", "it stopped with: {error}"),
        ("The results cover only what ran until then, not a whole call.",),
    ),
    ("slower_than_expected", "attention"): FindingText(
        "This ran at {speed_share} of the expected speed on {device}; {component} is slow because attention took the "
        "math path.",
        (*_SLOWER, "with attention that is not fused, {unfused_seconds} would be expected"),
        (
            "Fused attention needs a 16-bit dtype, a PyTorch with flash attention for this GPU, and no mask that the "
            'kernels do not support; or choose a backend, such as pipe.{component}.set_attention_backend("flash").',
        ),
    ),
    ("slower_than_expected", "component"): FindingText(
        "This ran at {speed_share} of the expected speed on {device}; most of the time is lost in {component}.",
        _SLOWER,
        (
            "Look for other processes on the GPU, a lowered clock (power limit, heat), a slow host, or kernels that "
            "are not the usual ones: `diffprof trace` shows which ran.",
        ),
    ),
    ("unstable_timings", "iterations"): FindingText(
        "The iterations vary by {spread_share}: do not trust a difference smaller than that.",
        (
            "{iterations} took {fastest_seconds} to {slowest_seconds}, {mean_seconds} on average",
            "the variation is the standard deviation divided by the mean",
        ),
        ("Stop other work on the machine, let a hot device cool down, and measure more iterations.",),
        ("diffprof.measure(pipe, warmup=2, iterations=20, ...)",),
        ("--warmup 2 --iterations 20",),
    ),
    ("dominant_section", "denoiser"): FindingText(
        _DOMINATES,
        _DOMINANCE,
        (
            "Start here: anything else gains at most {rest_share}.",
            "Fewer steps and compiling help any denoiser.",
            "{cacheable} can also skip what hardly changes from step to step.",
        ),
        (
            "pipe.scheduler = {solver}.from_config(pipe.scheduler.config)",
            "pipe.{component}.compile()",
            "pipe.{cacheable}.enable_cache(FirstBlockCacheConfig(threshold=0.05))",
        ),
        ("--scheduler {solver} --steps 20",),
    ),
    ("dominant_section", "vae"): FindingText(
        _DOMINATES,
        _DOMINANCE,
        (
            "Start here, not with the denoiser: anything else gains at most {rest_share}.",
            "Run it in half precision where its weights allow that, compile it, and for previews use a small decoder "
            "(AutoencoderTiny).",
            "Tiling helps only if memory is short; otherwise it costs time.",
        ),
        ("pipe.{component}.compile()",),
        ("--dtype float16",),
    ),
    ("dominant_section", "encoder"): FindingText(
        _DOMINATES,
        _DOMINANCE,
        ("Encode each prompt or image once, keep the result and pass it to every call.",),
        _ENCODE_ONCE,
    ),
    ("dominant_section", "other"): FindingText(
        _DOMINATES,
        _DOMINANCE,
        ("It is not a model. A trace shows what it does.",),
        _TRACE,
        ("--trace",),
    ),
    ("dominant_section", "between"): FindingText(
        "{total_share} of the time is spent between the sections: {total_seconds} outside of models and scheduler.",
        ("{longest} has the longest calls ({longest_seconds}), with {longest_share} of the time",),
        (
            "Check what the pipeline does there: callback_on_step_end, progress bars, copies to and from the device.",
            "A trace shows it.",
        ),
        _TRACE,
        ("--trace",),
    ),
    ("prompt_encoded_again", "in_one_call"): FindingText(
        "{section} encodes the same prompt repeatedly in one call: {saved_seconds} could be saved.",
        ("{again} redundant encodings of {prompts}", "{saved_share} of the time"),
        ("Encode it once and pass the result.",),
        _ENCODE_ONCE,
    ),
    ("prompt_encoded_again", "over_calls"): FindingText(
        "{section} encodes the same prompt again in later calls: {saved_seconds} could be saved.",
        ("{again} redundant encodings of {prompts}", "{saved_share} of the time"),
        (
            "Keep the encoding of each prompt and pass it to every call.",
            "Then the text encoder need not be on the device.",
        ),
        _ENCODE_ONCE,
    ),
    ("offload_dominates", "busy"): FindingText(
        "Moving weights keeps the host busy for {busy_share} of the time: {busy_seconds} of {wall_seconds}.",
        (
            "{moved_bytes} in {moves}",
            "most of it for {component}: {component_seconds}",
            "for {unknown_seconds} of it, overlap with other work could not be determined",
        ),
        (
            "Move less: model offload moves each component once per call; sequential offload moves every layer again "
            "and again.",
            "Or overlap moves with computation by group offload.",
        ),
        (
            "pipe.enable_model_cpu_offload()",
            'pipe.enable_group_offload(onload_device=device, offload_type="leaf_level", use_stream=True)',
        ),
        ("--offload model", "--offload group"),
    ),
    ("moved_each_step", "in_again"): FindingText(
        "{component} is moved to the device again in each denoising step: {step_bytes} per step.",
        ("{moved_bytes} in {steps}", "it kept the host busy for {busy_seconds}, {busy_share} of the time"),
        (
            "Keep it on the device during the loop: model offload moves it once per call.",
            "If it does not fit, group offload moves the next blocks while others compute.",
        ),
        (
            "pipe.enable_model_cpu_offload()",
            'pipe.{component}.enable_group_offload(onload_device=device, offload_type="block_level", '
            "num_blocks_per_group=1, use_stream=True)",
        ),
        ("--offload model", "--offload group"),
    ),
    ("attention_written_out", "model"): FindingText(
        _WRITTEN_OUT,
        _SCORES,
        (
            "Use torch's fused attention; attention slicing prevents it.",
            "A model whose processors choose a backend takes set_attention_backend.",
        ),
        (
            "pipe.{component}.set_attn_processor(AttnProcessor2_0())",
            "pipe.disable_attention_slicing()",
        ),
        ("--attention native",),
    ),
    ("attention_written_out", "encoder"): FindingText(
        _WRITTEN_OUT,
        _SCORES,
        ("Use fused attention.",),
        ('pipe.{component}.set_attn_implementation("sdpa")',),
    ),
    ("launch_bound", "accelerator"): FindingText(
        _LAUNCH_BOUND,
        _LAUNCHES,
        (
            "Launching them takes longer than computing them: compiling fuses them and launches them together.",
            "A larger batch gives each of them more work.",
        ),
        ('pipe.{component}.compile(mode="reduce-overhead")',),
        ("--batch 4",),
    ),
    ("launch_bound", "cpu"): FindingText(
        _LAUNCH_BOUND,
        _LAUNCHES,
        (
            "Calling them takes longer than computing them: compiling fuses them, and a larger batch gives each more "
            "work.",
            "For operations this small, fewer threads can be faster.",
        ),
        ("pipe.{component}.compile()", "torch.set_num_threads(1)"),
        ("--batch 4",),
    ),
    ("scheduler_overhead", "step"): FindingText(
        "The scheduler takes {scheduler_share} of a denoising step: {mean_seconds} of {step_seconds}.",
        ("{total_seconds} in {steps}",),
        (
            "Try one that does less per step.",
            "A trace shows whether its step waits for the device.",
        ),
        ("pipe.scheduler = EulerDiscreteScheduler.from_config(pipe.scheduler.config)",),
        ("--scheduler euler", "--trace"),
    ),
    ("cache_never_hits", "no_hit"): FindingText(
        "The cache {cache} never hit, in {asks}.",
        _CACHE[1:],
        (
            "Make it hit more often, such as FirstBlockCacheConfig(threshold=...) with a higher threshold or "
            "PyramidAttentionBroadcastConfig(...) with a wider range of timesteps, or do without it.",
        ),
        _CACHE_OUT,
        ("--cache first_block:0.1",),
    ),
    ("cache_seldom_hits", "few_hits"): FindingText(
        "The cache {cache} holds {held_bytes} but hits in only {hit_share} of the lookups.",
        _CACHE[:-1],
        ("Make it hit more often with a higher threshold or a wider range, or free its memory.",),
        _CACHE_OUT,
        ("--cache first_block:0.1",),
    ),
    ("vae_decode_memory", "one_picture"): FindingText(
        _VAE,
        _VAE_MEMORY,
        (
            "Decode the image in tiles, at the cost of a little time; if that is on, make the tiles smaller "
            "(tile_sample_min_size and the like).",
        ),
        ("pipe.{component}.enable_tiling()",),
        ("--enable vae_tiling",),
    ),
    ("vae_decode_memory", "several_pictures"): FindingText(
        _VAE,
        (*_VAE_MEMORY, "{pictures} are decoded at once"),
        ("Decode one image after the other; if a single one is too large, decode it in tiles.",),
        ("pipe.{component}.enable_slicing()", "pipe.{component}.enable_tiling()"),
        ("--enable vae_slicing", "--enable vae_tiling"),
    ),
    ("memory_not_freed", "grows"): FindingText(
        "The memory {memory} is higher after each iteration: {growth_bytes} more after {iterations}.",
        ("from {before_bytes} to {after_bytes} at the end of the call",),
        (
            "Look for what keeps tensors of finished calls: results in a list, latents that a callback stores, "
            "a cache of your own.",
        ),
    ),
    ("memory_not_freed", "kept"): FindingText(
        "{growth_bytes} more are held {memory} after the call than before it.",
        ("{before_bytes} before, {after_bytes} after",),
        (
            'If that is not the result itself (output_type="latent" or "pt" leaves it there), look for tensors that a '
            "callback keeps, and for offload hooks that were not removed.",
        ),
        ("pipe.maybe_free_model_hooks()",),
    ),
    ("fragmentation", "reserved"): FindingText(
        "{reserved_bytes} are reserved, but at most {needed_bytes} were ever allocated: memory is fragmented.",
        ("{excess_bytes} too much, at: {label}",),
        ("Let the allocator extend its segments, before the program starts; calls of equal sizes fragment less.",),
        ('os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"',),
    ),
    ("warm_up", "kept_apart"): FindingText(
        "The first iteration took {first_seconds}, later ones {usual_seconds}: warm-up, excluded from the results.",
        _WARM_UP,
        ("A program that generates one image pays for it: keep the process alive and warm it up with a short call.",),
    ),
    ("warm_up", "in_the_figures"): FindingText(
        "The first iteration took {first_seconds}, later ones {usual_seconds}: warm-up, included in the results.",
        _WARM_UP,
        ("Exclude it.",),
        ("diffprof.measure(pipe, warmup=1, ...)",),
        ("--warmup 1",),
    ),
    ("warm_up", "first_step"): FindingText(
        "The first denoising step took {first_seconds}, later ones {usual_seconds}, for the same work: warm-up.",
        _WARM_UP,
        ("Call the pipeline once before measuring it.",),
        ("diffprof.measure(pipe, warmup=1, ...)",),
        ("--warmup 1",),
    ),
}
