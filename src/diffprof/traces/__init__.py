"""Traces of torch.profiler (Kineto's Chrome traces): read in bounded memory, and what they say in figures.

Without torch, with numpy: what is read here are millions of events.
"""
