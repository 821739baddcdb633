"""Exact laws: the cost of a pipeline as closed forms of the values that a user can change. No torch."""
