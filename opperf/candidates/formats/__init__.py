"""Formats in which other tools state problems of kernels and results: one module for each."""
