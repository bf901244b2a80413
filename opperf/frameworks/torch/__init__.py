"""PyTorch. The only package that imports it."""
