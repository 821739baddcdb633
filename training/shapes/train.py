"""Trains the model from a seed: ``python -m training.shapes.train --out FOLDER``.

First the autoencoder learns to make a picture four times smaller and large again; then the text encoder and the UNet
learn together to draw such small pictures from words.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
import torch
from diffusers import AutoencoderKL, StableDiffusionPipeline
from torch import Tensor, nn
from torch.nn import functional

from training.shapes.drawing import Scene, caption, draw, random_scene
from training.shapes.model import new_pipeline
from training.shapes.muon import optimizers_of

SCENES = 16_000
VAE_STEPS, VAE_BATCH = 900, 8
UNET_STEPS, UNET_BATCH = 3000, 32
MATRIX_RATE, OTHER_RATE = 0.02, 1.5e-3
"""How far matrices move in a step (by Muon), and everything else (by Adam)."""
KL_WEIGHT = 2e-4
"""Weighs how far the latents are from noise against how far the pictures are from their originals."""
SILENCE = 0.1
"""The share of pictures that are shown without a word, so that guidance has something to compare with."""
SAVED_EVERY = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the folder that the pipeline is saved to")
    parser.add_argument("--log", type=Path, help="a CSV file for the loss")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    log = Log()
    train(asked.out, asked.seed, log=log)
    if asked.log:
        log.write(asked.log)


def train(
    out: Path,
    seed: int,
    *,
    scene_count: int = SCENES,
    vae_steps: int = VAE_STEPS,
    unet_steps: int = UNET_STEPS,
    log: Log,
) -> None:
    """Draw the pictures, train on them and save the pipeline to `out`."""
    # More threads add up in another order, and the same seed would give other weights.
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    chance = Random(seed)
    pipeline = new_pipeline()
    scenes = [random_scene(chance) for _ in range(scene_count)]
    pictures = torch.from_numpy(np.stack([draw(scene) for scene in scenes])).permute(0, 3, 1, 2)
    train_vae(pipeline.vae, pictures, vae_steps, log)
    latents = encoded(pipeline.vae, pictures)
    torch.manual_seed(seed)
    train_words_to_pictures(pipeline, scenes, latents, unet_steps, chance, log, out)
    pipeline.save_pretrained(out)


class Log:
    """The loss of each step, and the processor time it took to get there."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.rows: list[tuple[str, int, float, float]] = []

    def add(self, part: str, step: int, loss: float) -> None:
        self.rows.append((part, step, loss, time.process_time()))
        if step % 50 == 0 and not self.quiet:
            recent = [row[2] for row in self.rows[-50:] if row[0] == part]
            print(f"{part} {step}: {sum(recent) / len(recent):.5f} ({time.process_time():.0f} s)", flush=True)  # noqa: T201

    def write(self, path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("part", "step", "loss", "cpu_seconds"))
            writer.writerows((part, step, f"{loss:.5f}", f"{seconds:.1f}") for part, step, loss, seconds in self.rows)


def train_vae(vae: AutoencoderKL, pictures: Tensor, steps: int, log: Log) -> None:
    vae.train()
    learn = Learning((vae,), steps)
    for step, chosen in enumerate(_batches(len(pictures), VAE_BATCH, steps), start=1):
        wanted = _scaled(pictures[chosen])
        posterior = vae.encode(wanted).latent_dist
        found = vae.decode(posterior.sample()).sample
        kl = -0.5 * (1 + posterior.logvar - posterior.mean**2 - posterior.var).mean()
        difference = functional.mse_loss(found, wanted)
        learn(difference + KL_WEIGHT * kl)
        log.add("autoencoder", step, difference.item())
    vae.eval().requires_grad_(False)


@torch.no_grad()
def encoded(vae: AutoencoderKL, pictures: Tensor) -> Tensor:
    """The latents of all pictures, scaled to a spread of one as the noise has; the scale is kept in the VAE."""
    latents = torch.cat([vae.encode(_scaled(batch)).latent_dist.mean for batch in pictures.split(64)])
    vae.register_to_config(scaling_factor=round(1 / latents.std().item(), 5))
    return latents * vae.config.scaling_factor


def train_words_to_pictures(
    pipeline: StableDiffusionPipeline,
    scenes: list[Scene],
    latents: Tensor,
    steps: int,
    chance: Random,
    log: Log,
    out: Path,
) -> None:
    unet, text_encoder, scheduler = pipeline.unet.train(), pipeline.text_encoder.train(), pipeline.scheduler
    learn = Learning((unet, text_encoder), steps)
    for step, chosen in enumerate(_batches(len(latents), UNET_BATCH, steps), start=1):
        said = [caption(scenes[number], chance) if chance.random() >= SILENCE else "" for number in chosen.tolist()]
        meaning = text_encoder(_tokens(pipeline, said)).last_hidden_state
        clean = latents[chosen]
        noise = torch.randn_like(clean)
        times = torch.randint(0, scheduler.config.num_train_timesteps, (len(clean),))
        found = unet(scheduler.add_noise(clean, noise, times), times, meaning).sample
        loss = functional.mse_loss(found, scheduler.get_velocity(clean, noise, times))
        learn(loss)
        log.add("words to pictures", step, loss.item())
        if step % SAVED_EVERY == 0:
            pipeline.save_pretrained(out)
    unet.eval()
    text_encoder.eval()


def _tokens(pipeline: StableDiffusionPipeline, texts: list[str]) -> Tensor:
    return pipeline.tokenizer(texts, padding="max_length", truncation=True, return_tensors="pt").input_ids


def _batches(count: int, size: int, steps: int) -> Iterator[Tensor]:
    """`steps` batches of numbers below `count`: each number once, in a new order, then all again."""
    order = torch.empty(0, dtype=torch.long)
    for _ in range(steps):
        if len(order) < size:
            order = torch.cat([order, torch.randperm(count)])
        yield order[:size]
        order = order[size:]


def _scaled(pictures: Tensor) -> Tensor:
    return pictures.float() / 127.5 - 1


class Learning:
    """Steps down the gradient, quicker within the first twentieth of the steps, then slower along a cosine."""

    def __init__(self, models: Sequence[nn.Module], steps: int) -> None:
        self.steps, self.done = steps, 0
        self.weights = [weight for model in models for weight in model.parameters()]
        self.optimizers = optimizers_of(models, MATRIX_RATE, OTHER_RATE)
        self.highest = [optimizer.param_groups[0]["lr"] for optimizer in self.optimizers]

    def __call__(self, loss: Tensor) -> None:
        self.done += 1
        rising = min(1.0, self.done / (0.05 * self.steps))
        pace = rising * 0.5 * (1 + math.cos(math.pi * self.done / self.steps))
        loss.backward()
        nn.utils.clip_grad_norm_(self.weights, 1.0)
        for optimizer, highest in zip(self.optimizers, self.highest, strict=True):
            optimizer.param_groups[0]["lr"] = highest * pace
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    main()
