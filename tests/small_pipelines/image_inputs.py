"""Stable Diffusion's relatives that start from an image: edit, inpaint, upscale, describe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .autoencoders import image_autoencoder
from .image_encoders import clip_image_encoder, clip_image_processor
from .inputs import half_mask, seeded_image, seeded_tensor, short_run
from .small_pipeline import Arguments, Components, SmallPipeline
from .stable_diffusion import (
    BETAS,
    ddim_scheduler,
    latent_diffusion_components,
    stable_diffusion_components,
    stable_diffusion_unet,
    unclip_unet,
)
from .text_encoders import TEXT_WIDTH

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def image_run(**changes: Any) -> Arguments:
    """Two steps out of three: most image-to-image pipelines skip the first part of the schedule."""
    arguments: Arguments = {"image": seeded_image(32), "num_inference_steps": 3, "strength": 0.7}
    return short_run(**{**arguments, **changes})


def inpaint_run(**changes: Any) -> Arguments:
    arguments: Arguments = {"mask_image": half_mask(32), "height": 32, "width": 32}
    return image_run(**{**arguments, **changes})


def _with_unet(**unet_changes: Any) -> Components:
    return stable_diffusion_components(unet=stable_diffusion_unet(**unet_changes))


def _latent_consistency_components() -> Components:
    from diffusers import LCMScheduler

    components = _with_unet(time_cond_proj_dim=8)
    return {**components, "scheduler": LCMScheduler(**BETAS)}


def _upscale_components() -> Components:
    from diffusers import DDPMScheduler

    return latent_diffusion_components(
        unet=stable_diffusion_unet(in_channels=7, num_class_embeds=1000),
        vae=image_autoencoder(levels=3),
        low_res_scheduler=DDPMScheduler(),
    )


def _upscale_arguments() -> Arguments:
    return short_run(image=seeded_image(16))


def _latent_upscale_components() -> Components:
    """A UNet in Karras' style, conditioned on a noise level beside the pooled text."""
    from diffusers import EulerDiscreteScheduler

    noise_level_width = 128
    unet = stable_diffusion_unet(
        in_channels=8,
        out_channels=5,
        act_fn="gelu",
        norm_num_groups=None,
        attention_head_dim=8,
        block_out_channels=(32, 32, 64, 64),
        down_block_types=("KDownBlock2D", *("KCrossAttnDownBlock2D",) * 3),
        mid_block_type=None,
        up_block_types=(*("KCrossAttnUpBlock2D",) * 3, "KUpBlock2D"),
        conv_in_kernel=1,
        conv_out_kernel=1,
        resnet_time_scale_shift="scale_shift",
        time_embedding_type="fourier",
        timestep_post_act="gelu",
        time_cond_proj_dim=noise_level_width + TEXT_WIDTH,
    )
    return latent_diffusion_components(unet=unet, vae=image_autoencoder(levels=4), scheduler=EulerDiscreteScheduler())


def _depth_components() -> Components:
    components = latent_diffusion_components(unet=stable_diffusion_unet(in_channels=5))
    return {
        **components,
        "depth_estimator": _depth_estimator(),
        "feature_extractor": _depth_processor(),
    }


def _depth_estimator() -> PreTrainedModel:
    from transformers import DPTConfig, DPTForDepthEstimation

    return DPTForDepthEstimation(
        DPTConfig(
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=4,
            num_attention_heads=2,
            image_size=32,
            patch_size=16,
            backbone_out_indices=[0, 1, 2, 3],
            neck_hidden_sizes=[8, 8, 16, 16],
            fusion_hidden_size=8,
            is_hybrid=False,
        )
    )


def _depth_processor() -> Any:
    from transformers import DPTImageProcessor

    return DPTImageProcessor(size={"height": 32, "width": 32})


def _image_variation_components() -> Components:
    return {
        "vae": image_autoencoder(),
        "image_encoder": clip_image_encoder(),
        "unet": stable_diffusion_unet(),
        "scheduler": ddim_scheduler(),
        "safety_checker": None,
        "feature_extractor": clip_image_processor(),
    }


def _unclip_components() -> Components:
    from diffusers import DDPMScheduler
    from diffusers.pipelines.stable_diffusion import StableUnCLIPImageNormalizer

    return latent_diffusion_components(
        unet=unclip_unet(),
        image_encoder=clip_image_encoder(),
        feature_extractor=clip_image_processor(),
        image_normalizer=StableUnCLIPImageNormalizer(embedding_dim=TEXT_WIDTH),
        image_noising_scheduler=DDPMScheduler(beta_schedule="squaredcos_cap_v2"),
    )


def _paint_by_example_components() -> Components:
    from diffusers.pipelines.deprecated.paint_by_example import PaintByExampleImageEncoder
    from transformers import CLIPVisionConfig

    config = CLIPVisionConfig(
        hidden_size=TEXT_WIDTH,
        projection_dim=TEXT_WIDTH,
        intermediate_size=37,
        num_hidden_layers=5,
        num_attention_heads=4,
        image_size=28,
        patch_size=14,
    )
    return {
        **_image_variation_components(),
        "unet": stable_diffusion_unet(in_channels=9),
        "image_encoder": PaintByExampleImageEncoder(config, proj_size=TEXT_WIDTH),
    }


def _paint_by_example_arguments() -> Arguments:
    return short_run(
        prompt=None,
        example_image=seeded_image(28),
        image=seeded_image(32),
        mask_image=half_mask(32),
        height=32,
        width=32,
    )


def _marigold_components() -> Components:
    from diffusers import LCMScheduler

    return latent_diffusion_components(
        unet=stable_diffusion_unet(in_channels=8),
        scheduler=LCMScheduler(**BETAS, prediction_type="v_prediction", clip_sample=False),
    )


def _marigold_intrinsics_components() -> Components:
    """One run predicts three images, so three sets of latents beside those of the input."""
    return {
        **_marigold_components(),
        "unet": stable_diffusion_unet(in_channels=16, out_channels=12),
        "prediction_type": "intrinsics",
        "target_properties": {"target_names": ["albedo", "shading", "residual"]},
    }


def _marigold_arguments() -> Arguments:
    return short_run(prompt=None, image=seeded_image(32), processing_resolution=0, ensemble_size=1)


def _diffedit_components() -> Components:
    from diffusers import DDIMInverseScheduler

    return stable_diffusion_components(inverse_scheduler=DDIMInverseScheduler(**BETAS))


def _diffedit_arguments() -> Arguments:
    return short_run(mask_image=half_mask(16), image_latents=seeded_tensor(1, 2, 4, 16, 16), inpaint_strength=1.0)


PIPELINES = (
    SmallPipeline(
        "stable-diffusion-img2img",
        "img2img",
        "StableDiffusionImg2ImgPipeline",
        stable_diffusion_components,
        image_run,
    ),
    SmallPipeline(
        "stable-diffusion-inpaint",
        "inpaint",
        "StableDiffusionInpaintPipeline",
        stable_diffusion_components,
        inpaint_run,
    ),
    SmallPipeline(
        "stable-diffusion-inpaint-nine-channels",
        "inpaint",
        "StableDiffusionInpaintPipeline",
        lambda: _with_unet(in_channels=9),
        inpaint_run,
    ),
    SmallPipeline(
        "stable-diffusion-instruct-pix2pix",
        "img2img",
        "StableDiffusionInstructPix2PixPipeline",
        lambda: _with_unet(in_channels=8),
        lambda: short_run(image=seeded_image(32), image_guidance_scale=1.5),
    ),
    SmallPipeline(
        "stable-diffusion-depth2img",
        "img2img",
        "StableDiffusionDepth2ImgPipeline",
        _depth_components,
        image_run,
    ),
    SmallPipeline(
        "stable-diffusion-image-variation",
        "img2img",
        "StableDiffusionImageVariationPipeline",
        _image_variation_components,
        lambda: short_run(prompt=None, image=seeded_image(32)),
    ),
    SmallPipeline(
        "stable-unclip-img2img",
        "img2img",
        "StableUnCLIPImg2ImgPipeline",
        _unclip_components,
        lambda: short_run(image=seeded_image(32)),
    ),
    SmallPipeline(
        "stable-diffusion-diffedit",
        "inpaint",
        "StableDiffusionDiffEditPipeline",
        _diffedit_components,
        _diffedit_arguments,
    ),
    SmallPipeline(
        "paint-by-example",
        "inpaint",
        "PaintByExamplePipeline",
        _paint_by_example_components,
        _paint_by_example_arguments,
    ),
    SmallPipeline(
        "stable-diffusion-upscale",
        "upscale",
        "StableDiffusionUpscalePipeline",
        _upscale_components,
        _upscale_arguments,
    ),
    SmallPipeline(
        "stable-diffusion-latent-upscale",
        "upscale",
        "StableDiffusionLatentUpscalePipeline",
        _latent_upscale_components,
        lambda: short_run(image=seeded_image(64)),
    ),
    SmallPipeline(
        "latent-consistency-img2img",
        "img2img",
        "LatentConsistencyModelImg2ImgPipeline",
        _latent_consistency_components,
        lambda: image_run(num_inference_steps=4),
    ),
    SmallPipeline(
        "marigold-depth",
        "perception",
        "MarigoldDepthPipeline",
        lambda: {**_marigold_components(), "prediction_type": "depth"},
        _marigold_arguments,
    ),
    SmallPipeline(
        "marigold-normals",
        "perception",
        "MarigoldNormalsPipeline",
        lambda: {**_marigold_components(), "prediction_type": "normals"},
        _marigold_arguments,
    ),
    SmallPipeline(
        "marigold-intrinsics",
        "perception",
        "MarigoldIntrinsicsPipeline",
        _marigold_intrinsics_components,
        _marigold_arguments,
    ),
)
