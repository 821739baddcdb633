"""Break a profile down into tables of numbers: pure functions, without torch and without formatting."""
