"""Load pipelines that can run: their weights, their devices and ranks, and whether they fit."""
