"""From a profile to tables of figures: pure functions, no torch, no formatting."""
