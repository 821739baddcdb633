"""Analyse the events of a trace: where the time went, why devices were idle, what changed between two traces."""
