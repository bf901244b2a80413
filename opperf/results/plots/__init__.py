"""Plots of run files: the data, the specification of a picture, and what writes it."""
