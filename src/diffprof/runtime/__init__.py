"""Measure real runs of a pipeline: time, memory, caches and moved weights, next to the exact counts."""
