"""The model `shapes`: what it was shown, what it is made of and how it was trained (docs/shapes-model.md)."""
