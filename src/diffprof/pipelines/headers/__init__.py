"""Headers of weight files: names, shapes and types of the tensors, without the tensors."""
