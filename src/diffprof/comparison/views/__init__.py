"""A comparison as people and programs read it."""
