"""aMUSEd: no noise; a transformer fills in masked image tokens, step by step."""

from __future__ import annotations

from .inputs import short_run
from .small_pipeline import Components, SmallPipeline
from .text_encoders import TEXT_WIDTH, clip_text_encoder_with_projection
from .text_tokenizers import clip_tokenizer


def _amused_components() -> Components:
    from diffusers import AmusedScheduler, UVit2DModel, VQModel

    codebook_size = 32
    transformer = UVit2DModel(
        hidden_size=16,
        cond_embed_dim=TEXT_WIDTH,
        micro_cond_encode_dim=2,
        # The image's height and width, its crop corner and its aesthetic score.
        micro_cond_embed_dim=5 * 2,
        encoder_hidden_size=TEXT_WIDTH,
        vocab_size=codebook_size + 1,
        codebook_size=codebook_size,
        in_channels=16,
        block_out_channels=16,
        num_res_blocks=1,
        downsample=True,
        upsample=True,
        block_num_heads=2,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        sample_size=8,
    )
    autoencoder = VQModel(
        block_out_channels=(8, 8),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=8,
        layers_per_block=1,
        norm_num_groups=8,
        num_vq_embeddings=codebook_size,
        mid_block_add_attention=False,
        lookup_from_codebook=True,
    )
    return {
        "transformer": transformer,
        "vqvae": autoencoder,
        "scheduler": AmusedScheduler(mask_token_id=codebook_size),
        "text_encoder": clip_text_encoder_with_projection(),
        "tokenizer": clip_tokenizer(),
    }


PIPELINES = (
    SmallPipeline(
        "amused",
        "masked-tokens",
        "AmusedPipeline",
        _amused_components,
        lambda: short_run(height=16, width=16),
    ),
)
