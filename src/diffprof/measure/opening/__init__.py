"""Opening a pipeline from the catalogue, a folder or the hub: configuration only, no weights, no foreign code."""

from diffprof.measure.opening.blueprint import Blueprint, PartPlan
from diffprof.measure.opening.building import build
from diffprof.measure.opening.source import blueprint_of

__all__ = ["Blueprint", "PartPlan", "blueprint_of", "build"]
