"""From a profile to tables of numbers: pure functions, no torch, no formatting."""
