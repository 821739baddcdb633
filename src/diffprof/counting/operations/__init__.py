"""Count the cost of operations, on virtual tensors (a dry run) or on real ones."""
