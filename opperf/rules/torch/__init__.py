"""Rules that make inputs for PyTorch's operators."""
