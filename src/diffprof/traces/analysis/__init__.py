"""From the events of a trace to facts: where the time went, why devices were idle, what changed between two traces."""
