"""Option groups: typer sees their options, and the command gets the group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typer

from diffprof.cli.options.groups import CallOptions, ComponentOptions, RunOptions, expand_groups
from diffprof.errors import RequestError
from diffprof.record.request import Request


@dataclass(frozen=True)
class Sizes:
    """Two options."""

    height: Annotated[str | None, typer.Option(help="How high.")] = None
    wide: Annotated[bool, typer.Option("--wide")] = False


def run_command(*arguments: str) -> tuple[str, Sizes, int]:
    app, received = typer.Typer(), list[Any]()

    @app.command()
    @expand_groups
    def command(name: str, sizes: Sizes, count: int = 3) -> None:
        """Say nothing."""
        received.append((name, sizes, count))

    app(list(arguments), standalone_mode=False)
    (result,) = received
    return result


def test_the_command_gets_the_group_that_was_typed() -> None:
    assert run_command("x") == ("x", Sizes(), 3)
    assert run_command("x", "--wide", "--count", "5", "--height", "2") == ("x", Sizes("2", wide=True), 5)


def test_the_options_of_a_group_are_one_request() -> None:
    options = RunOptions(
        height="512", steps="30", settings=["eta=0.5"], dtype="fp16", prompt="a cat", seed="3", random_weights=True
    )
    assert options.request("sdxl") == Request(
        "sdxl", {"prompt": "a cat", "height": 512, "num_inference_steps": 30, "eta": 0.5},
        dtype="float16", seed=3, random_weights=True,
    )  # fmt: skip
    assert CallOptions().request("sdxl") == ComponentOptions().request("sdxl") == Request("sdxl")


def test_a_single_file_is_the_model_and_the_model_says_what_it_is() -> None:
    request = RunOptions(single_file="flux1-dev.safetensors", steps="4").request("flux.1-dev")
    assert (request.model, request.config) == ("flux1-dev.safetensors", "flux.1-dev")
    with pytest.raises(RequestError, match="leave out --config"):
        RunOptions(single_file="flux1-dev.safetensors", config="sdxl").request("flux.1-dev")


@pytest.mark.parametrize(
    ("size", "sides"), [("1024x768", (1024, 768)), ("512", (512, 512)), ("64*32", (64, 32)), ("64×32", (64, 32))]
)
def test_a_size_is_width_and_height_or_a_square(size: str, sides: tuple[int, int]) -> None:
    arguments = CallOptions(size=size).request("sdxl").arguments
    assert (arguments["width"], arguments["height"]) == sides


@pytest.mark.parametrize("size", ["big", "1024x", "x768", "10x20x30"])
def test_what_is_no_size_is_refused(size: str) -> None:
    with pytest.raises(RequestError, match="--size takes WIDTHxHEIGHT, such as 1024x768, or one number for a square"):
        CallOptions(size=size).request("sdxl")
