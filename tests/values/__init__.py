"""Comparison of frameworks' operators with the references of canonical operations."""
