"""Instrument real runs of a pipeline: calls, times, memory, moved weights and cache hits."""
