"""Explain memory snapshots of ``torch.cuda.memory``, which are read without unpickling."""
