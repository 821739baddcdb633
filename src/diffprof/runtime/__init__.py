"""Real runs of a pipeline: time, memory, caches and moved weights, call by call beside the exact count."""
