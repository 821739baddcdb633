"""Weights in fewer bits: their sizes and how they are used, independent of the library."""
