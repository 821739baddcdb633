"""Reading a trace: a file in, its events as columns out."""
