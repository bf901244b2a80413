"""Stands for PyTorch/XLA: its tensors are the CPU's, and `steps` counts what is asked of it."""

steps = {"marked": 0, "waited": 0, "compiled": 0}
