"""A profile as one page that can be sent to a colleague: nothing else is needed to read it."""
