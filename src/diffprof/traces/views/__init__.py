"""What traces say, as people and programs read it."""
