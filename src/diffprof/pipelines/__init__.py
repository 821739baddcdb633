"""Opening a pipeline from the catalogue, a folder or the hub: configuration only, no weights, no foreign code."""

from diffprof.pipelines.blueprint import Blueprint, PartPlan
from diffprof.pipelines.building import build
from diffprof.pipelines.source import blueprint_of

__all__ = ["Blueprint", "PartPlan", "blueprint_of", "build"]
