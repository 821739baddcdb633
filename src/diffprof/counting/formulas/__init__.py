"""The cost of each operation: one table, and how to add to it."""
