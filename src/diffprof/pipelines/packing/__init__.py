"""Weights in fewer bits: what they take and how they are computed with, whichever library packs them."""
