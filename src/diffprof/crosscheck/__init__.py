"""The same call of the same component, counted by other tools and by diffprof, each in a process of its own."""
