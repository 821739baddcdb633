"""Memory snapshots of ``torch.cuda.memory``: read without unpickling, and explained by owner."""
