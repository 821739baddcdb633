"""The options of the commands, and what a shell completes them with."""
