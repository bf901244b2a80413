"""Plots of run files: the data, the specification of an image, and what writes it."""
