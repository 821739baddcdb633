"""Many requests in, a table of what each costs out; in this process, in worker processes or on a Ray cluster."""
