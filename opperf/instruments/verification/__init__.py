"""Verification: whether a mode computes what eager mode does."""
