"""The headers of weight files: names, shapes and types of the tensors, read without the tensors."""
