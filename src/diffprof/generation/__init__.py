"""One generation: the request, the pipeline call that follows from it, and what becomes of the result."""
