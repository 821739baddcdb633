"""Exact laws: what a pipeline executes, as closed forms of what a user can change. No torch."""
