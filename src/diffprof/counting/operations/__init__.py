"""Counting what operations cost, on virtual tensors (a dry run) or on real ones."""
