"""Makes the table of recorded inputs of PyTorch's operators."""
