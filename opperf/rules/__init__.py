"""Inputs for operators: hand-written families, then tables by argument name."""
