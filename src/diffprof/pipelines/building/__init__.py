"""Build a pipeline from its plan, on virtual weights: models, schedulers, tokenizers and processors."""
