"""Milabench's layout of runs, read and written, and its database, read."""
