"""Count one call of a component with other tools and with diffprof, each in its own process."""
