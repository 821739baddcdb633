"""Instruments real runs of a pipeline: what is called when, how long it takes, what it holds, moves and skips."""
