"""What each operation costs: one table, and how to add to it."""
