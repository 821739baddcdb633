"""How the models that come with diffprof were made."""
