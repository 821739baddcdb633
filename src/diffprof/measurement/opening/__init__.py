"""Opening a pipeline from the catalogue, a folder or the hub: configuration only, no weights, no foreign code."""

from diffprof.measurement.opening.blueprint import Blueprint, PartPlan
from diffprof.measurement.opening.building import build
from diffprof.measurement.opening.source import blueprint_of

__all__ = ["Blueprint", "PartPlan", "blueprint_of", "build"]
