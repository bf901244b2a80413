"""Milabench's layout of runs, read and written, and its figures."""
